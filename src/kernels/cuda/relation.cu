// What callers derive from a relation, and its sources renumbered.
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

__global__ void renumber_sources(int32_t* local, int64_t count, Renumbering to) {
  const int64_t e = thread_number();
  if (e < count) local[e] = to.of(local[e]);
}

__global__ void load_edge_ids(CudaEdgeIdsArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  const int64_t position = load_id(args.positions.data, args.positions.wide, e);
  if (args.ids == nullptr) {
    args.out[e] = position;
  } else if (position < 0 || position >= args.num_ids) {
    args.out[e] = -1;
  } else {
    args.out[e] = load_id(args.ids, args.wide_ids, position);
  }
}

__global__ void write_mean_weights(CudaRelationArgs args, float* out) {
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  const int64_t row = row_of(args.indptr, args.first_row, e);
  const auto picks = static_cast<double>(args.indptr[row + 1] - args.indptr[row]);
  out[e] = static_cast<float>(1 / picks);
}

__global__ void write_edge_index(CudaRelationArgs args, int64_t* out) {
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  const int64_t row = row_of(args.indptr, args.first_row, e);
  out[e] = args.indices[e];
  out[args.num_edges + e] = row;
}

}  // namespace

void cuda_sampling::renumber(
    int device, int32_t* local, int64_t count, const Renumbering& to, void* stream) {
  const DeviceScope scope(device);
  launch_each("renumber_sources", renumber_sources, count, stream, local, count, to);
}

void cuda_sampling::edge_ids(int device, const CudaEdgeIdsArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("load_edge_ids", load_edge_ids, args.num_edges, stream, args);
}

void cuda_sampling::mean_weights(int device,
                                 const CudaRelationArgs& args,
                                 float* out,
                                 void* stream) {
  const DeviceScope scope(device);
  launch_each("write_mean_weights", write_mean_weights, args.num_edges, stream, args, out);
}

void cuda_sampling::edge_index(int device,
                               const CudaRelationArgs& args,
                               int64_t* out,
                               void* stream) {
  const DeviceScope scope(device);
  launch_each("write_edge_index", write_edge_index, args.num_edges, stream, args, out);
}

}  // namespace ramet
