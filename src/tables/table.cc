#include "ramet/table.h"

#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/kernels.h"
#include "ramet/parallel.h"

namespace ramet {
namespace {

// Enough bytes per chunk to hide the cost of handing a chunk to a thread.
constexpr int64_t kChunkBytes = 256 << 10;

}  // namespace

void Table::gather(std::span<const int64_t> ids, void* out, int threads) const {
  const int64_t row_bytes = rows_.row_bytes();
  const int64_t grain = row_bytes > 0 ? kChunkBytes / row_bytes + 1 : kChunkBytes;
  const int64_t output_bytes = static_cast<int64_t>(ids.size()) * row_bytes;
  parallel_for(static_cast<int64_t>(ids.size()), grain, threads, [&](int64_t begin, int64_t end) {
    const int64_t bad =
        cpu_kernels()->gather_rows({.table = rows_.data,
                                    .num_rows = rows_.rows(),
                                    .row_bytes = row_bytes,
                                    .ids = ids.data() + begin,
                                    .num_ids = end - begin,
                                    .out = static_cast<char*>(out) + begin * row_bytes,
                                    .output_bytes = output_bytes});
    if (bad < 0) return;
    throw Error(ErrorCode::kOutOfRange,
                "ids[" + std::to_string(begin + bad) +
                    "] = " + std::to_string(ids[static_cast<size_t>(begin + bad)]) +
                    " is outside the " + std::to_string(rows_.rows()) + " rows of " + name_);
  });
}

Array Table::gather(std::span<const int64_t> ids, int threads) const {
  std::vector<int64_t> shape = rows_.shape;
  shape[0] = static_cast<int64_t>(ids.size());
  Array out = BufferPool::shared()->allocate_array(rows_.dtype, std::move(shape));
  gather(ids, out.data, threads);
  return out;
}

}  // namespace ramet
