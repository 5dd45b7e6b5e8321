// What callers derive from a relation on a device, and how a batch gets from there to the host.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// kInvalidArgument where the relation is not on a device.
int device_of(const Relation& relation) {
  if (relation.indptr.device != kHost) return relation.indptr.device;
  throw_invalid("a relation in memory of the host; this is for relations on a device");
}

Array allocate(DType dtype, std::vector<int64_t> shape, int device, BufferPool& pool) {
  Array array = pool.allocate_array(dtype, std::move(shape));
  array.device = device;
  return array;
}

Array load_ids(const Relation& relation,
               const void* ids,
               bool wide_ids,
               int64_t num_ids,
               BufferPool& pool,
               CudaStreamHandle stream) {
  const int device = device_of(relation);
  const int64_t num_edges = relation.position.rows();
  Array result = allocate(DType::kInt64, {num_edges}, device, pool);
  const CudaPositions positions{relation.position.data, relation.position.dtype == DType::kInt64};
  require_cuda().sampling.edge_ids(
      device, {positions, num_edges, ids, wide_ids, num_ids, static_cast<int64_t*>(result.data)},
      stream);
  return result;
}

// A relation as kernels over its edges see it.
class ByEdge {
 public:
  ByEdge(const Relation& relation, BufferPool& pool, CudaStreamHandle stream)
      : args_{static_cast<const int64_t*>(relation.indptr.data), relation.indptr.rows() - 1,
              static_cast<const int32_t*>(relation.indices.data), relation.indices.rows(),
              nullptr} {
    if (args_.num_edges == 0) return;
    const int device = device_of(relation);
    first_row_ = allocate(DType::kInt32, {cuda_first_rows(args_.num_edges)}, device, pool);
    auto* first_row = static_cast<int32_t*>(first_row_.data);
    require_cuda().sampling.first_rows(
        device, {args_.indptr, args_.num_dst, args_.num_edges, first_row}, stream);
    args_.first_row = first_row;
  }
  [[nodiscard]] const CudaRelationArgs& args() const { return args_; }

 private:
  CudaRelationArgs args_;
  Array first_row_;
};

// What is on a device is complete.
Array to_host(const Array& array, CudaStreamHandle stream) {
  if (array.device == kHost) return array;
  Array result = BufferPool::shared()->allocate_array(array.dtype, array.shape);
  if (array.bytes() > 0)
    require_cuda().runtime.copy(array.device, result.data, array.data, array.bytes(), stream);
  return result;
}

}  // namespace

Array positions(const Relation& relation, BufferPool& pool, CudaStreamHandle stream) {
  if (relation.position.dtype == DType::kInt64) return relation.position;
  return load_ids(relation, nullptr, false, 0, pool, stream);
}

Array edge_ids(const CudaGraph& graph,
               const Relation& relation,
               BufferPool& pool,
               CudaStreamHandle stream) {
  const auto edge_type = static_cast<size_t>(relation.edge_type);
  const EdgeType& edges = graph.graph()->edge_types()[edge_type];
  if (!edges.has_edge_ids()) return positions(relation, pool, stream);
  return load_ids(relation, graph.edge_ids(edge_type), edges.edge_ids.dtype == DType::kInt64,
                  edges.edge_ids.rows(), pool, stream);
}

Array edge_weights(const Relation& relation, BufferPool& pool, CudaStreamHandle stream) {
  if (relation.edge_weight.data != nullptr) return relation.edge_weight;
  const int device = device_of(relation);
  Array result = allocate(DType::kFloat32, {relation.indices.rows()}, device, pool);
  const ByEdge edges(relation, pool, stream);
  require_cuda().sampling.mean_weights(device, edges.args(), static_cast<float*>(result.data),
                                       stream);
  return result;
}

Array edge_index(const Relation& relation, BufferPool& pool, CudaStreamHandle stream) {
  const int device = device_of(relation);
  Array result = allocate(DType::kInt64, {2, relation.indices.rows()}, device, pool);
  const ByEdge edges(relation, pool, stream);
  require_cuda().sampling.edge_index(device, edges.args(), static_cast<int64_t*>(result.data),
                                     stream);
  return result;
}

Minibatch to_host(const Minibatch& batch) {
  int device = kHost;
  for_each_array(batch, [&](const Array& array) { device = std::max(device, array.device); });
  if (device == kHost) return batch;
  require_cuda().runtime.synchronize_all(device);
  const CudaStream stream(device);
  Minibatch result = batch;
  for_each_array(result, [&](Array& array) { array = to_host(array, stream.handle()); });
  stream.synchronize();
  return result;
}

}  // namespace ramet
