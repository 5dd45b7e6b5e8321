// The in-edges that a time allows; docs/semantics.md, section 16. In rows that are in no order of
// times, all of them are looked at.
#include "kernels/cuda/edge_time.cuh"
#include "kernels/cuda/mark_edges.cuh"
#include "kernels/cuda/sampling.h"

namespace ramet {
namespace {

__global__ void mark_allowed(CudaMarkInTimeArgs args) {
  mark_accepted(args.mark, [&](const InEdge& e) {
    const int64_t dst = dst_of(args.mark.rows.order.dst, e.row);
    const EdgeTime time = time_of(args.edges, args.times, e.position);
    if (!time.is_good) record_bad(args.bad, dst);
    return time.is_good && contains(args.times.allowed[dst], time.value);
  });
}

__global__ void split_each_key(CudaSplitKeysArgs args) {
  const int64_t i = thread_number();
  if (i >= args.count) return;
  const int64_t tree = args.keys[i] >> args.id_bits;
  args.ids[i] = args.keys[i] & ((int64_t{1} << args.id_bits) - 1);
  if (args.trees != nullptr) args.trees[i] = tree;
  if (args.allowed != nullptr) args.allowed[i] = args.spans[tree];
}

}  // namespace

void cuda_sampling::mark_in_time(int device, const CudaMarkInTimeArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("mark_allowed", mark_allowed, args.mark.num_edges, stream, args);
}

void cuda_sampling::split_keys(int device, const CudaSplitKeysArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("split_each_key", split_each_key, args.count, stream, args);
}

}  // namespace ramet
