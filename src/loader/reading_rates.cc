#include "reading_rates.h"

#include <algorithm>
#include <vector>

#include "clock.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_table.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr int64_t kRows = 1 << 16;
constexpr int64_t kBytes = 64 << 20;  // of rows, at most
constexpr int kTimes = 3;

// Like those of a batch: each somewhere else.
Array random_rows(int64_t num_rows, int64_t count, BufferPool& pool) {
  Array ids = pool.allocate_array(DType::kInt64, {count});
  auto* id = static_cast<int64_t*>(ids.data);
  for (int64_t i = 0; i < count; ++i)
    id[i] = static_cast<int64_t>(
        uniform_below(mix64(static_cast<uint64_t>(i)), static_cast<uint64_t>(num_rows)));
  return ids;
}

template <typename Body>
double fastest_seconds(const CudaStream& stream, Body&& body) {
  double best = 1e9;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = Clock::now();
    body();
    stream.synchronize();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

}  // namespace

ReadingRates measure_reading(const NeighborLoader& loader,
                             const TableRequest& request,
                             DevicePool& pool) {
  const CudaRuntime& cuda = require_cuda().runtime;
  const Table table = table_of(loader, request);
  const TableForm form = form_of(loader, request);
  const bool decode = form.dtype != table.rows().dtype;
  const int64_t num_rows = table.rows().rows(), row_bytes = std::max<int64_t>(form.row_bytes, 1);
  if (num_rows == 0) return {1, 1, ""};
  const int64_t count = std::clamp<int64_t>(kBytes / row_bytes, 1, kRows);
  const double bytes = static_cast<double>(count * row_bytes);

  const CudaStream stream(pool.device());
  const auto on_device = pool.on(stream.handle());
  std::vector<int64_t> shape = table.rows().shape;
  shape[0] = count;
  const Array ids = random_rows(num_rows, count, *loader.pool());
  const Array pinned = loader.pool()->allocate_array(form.dtype, shape);
  const Array out = on_device->allocate_array(form.dtype, shape);

  ReadingRates rates;
  rates.staged =
      bytes / fastest_seconds(stream, [&] {
        const int threads = loader.max_threads();
        if (decode)
          table.gather_float32(ids.as<int64_t>(), static_cast<float*>(pinned.data), threads);
        else
          table.gather(ids.as<int64_t>(), pinned.data, threads);
        cuda.copy(pool.device(), out.data, pinned.data, pinned.bytes(), stream.handle());
      });
  try {
    const CudaTableOptions options{
        .device = pool.device(), .placement = CudaPlacement::kInPlace, .cached = {}};
    const auto in_place = std::make_shared<const CudaTable>(table, options);
    const int max_sms = loader.options().on.max_sms;
    rates.in_place =
        bytes / fastest_seconds(stream, [&] {
          in_place->gather(ids, out, stream.handle(), {.decode = decode, .max_sms = max_sms});
        });
    rates.kept = in_place;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw;
    rates.refusal = error.what();
  }
  return rates;
}

}  // namespace ramet
