#include "kernels/cuda_backend.h"
#include "ramet/block_edges.h"
#include "ramet/buffer_pool.h"

namespace ramet {

BlockEdges::Transposed transpose_on_device(const Array& indptr,
                                           const Array& indices,
                                           int64_t num_src,
                                           BufferPool& pool,
                                           CudaStreamHandle stream) {
  const CudaBackend& cuda = require_cuda();
  const int device = indices.device;
  const auto clear = [&](void* data, int64_t bytes) {
    if (bytes > 0) cuda.runtime.fill(device, data, 0, bytes, stream);
  };
  BlockEdges::Transposed result{pool.allocate_array(DType::kInt64, {num_src + 1}),
                                pool.allocate_array(DType::kInt32, {indices.rows()}),
                                pool.allocate_array(DType::kInt32, {indices.rows()})};
  const int64_t bytes_placed = num_src * int64_t{sizeof(uint32_t)};
  const int64_t bytes_scan = cuda.sampling.scan_bytes(device, num_src);
  const auto placed = pool.allocate(bytes_placed), scan = pool.allocate(bytes_scan);
  clear(result.indptr.data, result.indptr.bytes());
  clear(placed.get(), bytes_placed);
  cuda.transpose(device,
                 {.indptr = static_cast<const int64_t*>(indptr.data),
                  .num_dst = indptr.rows() - 1,
                  .indices = static_cast<const int32_t*>(indices.data),
                  .num_edges = indices.rows(),
                  .num_src = num_src,
                  .placed = static_cast<uint32_t*>(placed.get()),
                  .scan = {scan.get(), bytes_scan},
                  .by_source = static_cast<int64_t*>(result.indptr.data),
                  .destinations = static_cast<int32_t*>(result.indices.data),
                  .edges = static_cast<int32_t*>(result.edges.data)},
                 stream);
  return result;
}

}  // namespace ramet
