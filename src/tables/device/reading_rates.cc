#include "reading_rates.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "device/device_memory.h"
#include "kernels/kernels.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr int kTimes = 3;
constexpr int kReads = 4;             // on their way at once
constexpr int64_t kRows = 1 << 12;    // of a read, at most
constexpr int64_t kBytes = 16 << 20;  // of its rows, at most

// Rows in the middle of the table.
Table part_of(const Table& table, int64_t part_bytes) {
  const int64_t row_bytes = std::max<int64_t>(table.rows().row_bytes(), 1);
  const int64_t count = table.rows().rows();
  const int64_t some = std::clamp<int64_t>(part_bytes / row_bytes, 1, count);
  const auto middle = [&](const Array& rows) {
    Array part = rows;
    part.data = static_cast<char*>(rows.data) + (count - some) / 2 * rows.row_bytes();
    part.shape[0] = some;
    return part;
  };
  if (!table.has_scale()) return Table(middle(table.rows()), table.name());
  const bool by_row = table.encoding() == Encoding::kInt8ScaledByRow;
  return {middle(table.rows()), by_row ? middle(table.scale()) : table.scale(), table.name()};
}

// Of the part as of the whole table, which decides whether ids are sorted.
RowOrder order_of(const Table& table, RowOrder order) {
  if (order != RowOrder::kAuto) return order;
  return pays_to_sort(table.rows().bytes(), kReads * kRows) ? RowOrder::kSorted
                                                            : RowOrder::kAsGiven;
}

// Like those of a batch: each somewhere else. Page-locked, so that a device reads them, too.
Array random_ids(int64_t num_rows, int64_t count, uint64_t seed, BufferPool& pinned) {
  Array ids = pinned.allocate_array(DType::kInt64, {count});
  auto* id = static_cast<int64_t*>(ids.data);
  for (int64_t i = 0; i < count; ++i)
    id[i] = static_cast<int64_t>(uniform_below(mix64(mix64(seed) + static_cast<uint64_t>(i)),
                                               static_cast<uint64_t>(num_rows)));
  return ids;
}

// Other rows each time, which no cache has. Bytes of them.
int64_t read_once(const RowSource& source,
                  const std::vector<Array>& ids,
                  const ReadContext& context) {
  std::vector<std::unique_ptr<RowRead>> reads;
  for (const Array& of_read : ids)
    reads.push_back(source.submit(of_read, context));
  int64_t bytes = 0;
  for (const auto& read : reads)
    bytes += read->complete().rows.bytes();
  return bytes;
}

// Where a batch's ids are when its rows are read in place.
void move_to_device(std::vector<Array>& ids, int device, const ReadContext& context) {
  const CudaRuntime& runtime = require_cuda().runtime;
  for (Array& of_read : ids) {
    const Array moved = context.pool->allocate_array(DType::kInt64, {of_read.rows()});
    runtime.copy(device, moved.data, of_read.data, of_read.bytes(), context.stream);
    runtime.synchronize(device, context.stream);
    of_read = moved;
  }
}

double bytes_a_second(const RowSource& source,
                      int64_t num_rows,
                      const ReadContext& context,
                      std::optional<int> device_of_ids) {
  using Clock = std::chrono::steady_clock;
  const int64_t row_bytes = std::max<int64_t>(source.form().row_bytes(), 1);
  const int64_t count = std::clamp<int64_t>(kBytes / row_bytes, 1, kRows);
  double best = 0;
  for (uint64_t time = 0; time < kTimes; ++time) {
    std::vector<Array> ids;
    for (uint64_t read = 0; read < kReads; ++read)
      ids.push_back(random_ids(num_rows, count, time * kReads + read, *context.pinned));
    if (device_of_ids) move_to_device(ids, *device_of_ids, context);
    const auto start = Clock::now();
    const int64_t bytes = read_once(source, ids, context);
    const std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, static_cast<double>(std::max<int64_t>(bytes, 1)) / seconds.count());
  }
  return best;
}

}  // namespace

ReadingRates measure_reading(const Table& table,
                             DevicePool& pool,
                             const std::shared_ptr<BufferPool>& pinned,
                             const MeasureOptions& options) {
  if (table.rows().rows() == 0) return {.in_place = 1, .staged = 1};
  const Table part = part_of(table, options.part_bytes);
  const CudaStream stream(pool.device());
  const ReadContext context{.pool = pool.on(stream.handle()),
                            .threads = options.threads,
                            .stream = stream.handle(),
                            .pinned = pinned,
                            .max_sms = options.max_sms,
                            .order = order_of(table, options.order)};
  const auto rate = [&](Location location) {
    const RowSourceOptions source{
        .decode = options.decode, .device = pool.device(), .placement = location};
    const bool on_device = location == Location::kInPlace;
    return bytes_a_second(*make_row_source(part, source), part.rows().rows(), context,
                          on_device ? std::optional(pool.device()) : std::nullopt);
  };
  ReadingRates rates;
  try {
    rates.in_place = rate(Location::kInPlace);  // first: it reads the part into memory
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    return {.refusal = error.what()};
  }
  rates.staged = rate(Location::kStaged);
  return rates;
}

}  // namespace ramet
