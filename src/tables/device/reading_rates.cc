#include "reading_rates.h"

#include <algorithm>
#include <chrono>

#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr int64_t kRows = 1 << 16;
constexpr int64_t kBytes = 64 << 20;  // of rows, at most
constexpr int kTimes = 3;

// Like those of a batch: each somewhere else. Page-locked, so that a device reads them, too.
Array random_ids(int64_t num_rows, int64_t count, BufferPool& pinned) {
  Array ids = pinned.allocate_array(DType::kInt64, {count});
  auto* id = static_cast<int64_t*>(ids.data);
  for (int64_t i = 0; i < count; ++i)
    id[i] = static_cast<int64_t>(
        uniform_below(mix64(static_cast<uint64_t>(i)), static_cast<uint64_t>(num_rows)));
  return ids;
}

double bytes_a_second(const RowSource& source, const Array& ids, const ReadContext& context) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = Clock::now();
    const Array rows = source.submit(ids, context)->complete().rows;
    const std::chrono::duration<double> seconds = Clock::now() - start;
    best =
        std::max(best, static_cast<double>(std::max<int64_t>(rows.bytes(), 1)) / seconds.count());
  }
  return best;
}

}  // namespace

ReadingRates measure_reading(const Table& table,
                             DevicePool& pool,
                             const std::shared_ptr<BufferPool>& pinned,
                             const MeasureOptions& options) {
  if (table.rows().rows() == 0) return {.in_place = 1, .staged = 1};
  const int64_t row_bytes = std::max<int64_t>(table.form(options.decode).row_bytes(), 1);
  const Array ids =
      random_ids(table.rows().rows(), std::clamp<int64_t>(kBytes / row_bytes, 1, kRows), *pinned);
  const CudaStream stream(pool.device());
  const ReadContext context{.pool = pool.on(stream.handle()),
                            .threads = options.threads,
                            .stream = stream.handle(),
                            .pinned = pinned,
                            .max_sms = options.max_sms,
                            .order = options.order};
  RowSourceOptions source{.decode = options.decode, .device = pool.device()};
  source.placement = Location::kStaged;
  ReadingRates rates;
  rates.staged = bytes_a_second(*make_row_source(table, source), ids, context);
  try {
    source.placement = Location::kInPlace;
    const auto in_place = make_row_source(table, source);
    rates.in_place = bytes_a_second(*in_place, ids, context);
    rates.kept = in_place;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw;
    rates.refusal = error.what();
  }
  return rates;
}

}  // namespace ramet
