// The in-edges that a time allows, and that are not excluded; docs/semantics.md, sections 16
// and 24. In rows that are in no order of times, or may have excluded edges, all of them are looked
// at.
#include <limits>

#include "kernels/cuda/edge_time.cuh"
#include "kernels/cuda/mark_edges.cuh"
#include "kernels/cuda/sampling.h"

namespace ramet {
namespace {

__device__ bool has(const CudaExcluded& excluded, int64_t position) {
  int64_t low = 0, high = excluded.count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2, found = __ldg(excluded.positions + middle);
    if (found == position) return true;
    if (found < position)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

__global__ void mark_each_allowed(CudaMarkAllowedArgs args) {
  mark_accepted(args.mark, [&](const InEdge& e) {
    if (has(args.excluded, e.position)) return false;
    if (args.times.allowed == nullptr) return true;
    const int64_t dst = dst_of(args.mark.rows.order.dst, e.row);
    const EdgeTime time = time_of(args.edges, args.times, e.position);
    if (!time.is_good) record_bad(args.bad, dst);
    return time.is_good && contains(args.times.allowed[dst], time.value);
  });
}

constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
constexpr unsigned long long kSign = 1ull << 63;

__device__ unsigned long long turn_sign(int64_t time) {
  return static_cast<unsigned long long>(time) ^ kSign;
}

__device__ CudaSpan common(const CudaSpan& span, const CudaPath& path) {
  const auto first = static_cast<int64_t>(path.first ^ kSign);
  const auto last = static_cast<int64_t>(~path.last ^ kSign);
  return {span.first > first ? span.first : first, span.last < last ? span.last : last};
}

// allowed_times() of the CPU, without a window.
__device__ CudaSpan span_of(const CudaNarrowPathsArgs& args, int64_t time) {
  if (args.is_strict && time == (args.is_past ? kFirst : kLast)) return {0, -1};
  const int64_t step = args.is_strict ? 1 : 0;
  return args.is_past ? CudaSpan{kFirst, time - step} : CudaSpan{time + step, kLast};
}

__global__ void split_each_key(CudaSplitKeysArgs args) {
  const int64_t i = thread_number();
  if (i >= args.count) return;
  const int64_t tree = args.keys[i] >> args.id_bits;
  args.ids[i] = args.keys[i] & cuda_id_mask(args.id_bits);
  if (args.trees != nullptr) args.trees[i] = tree;
  if (args.allowed == nullptr) return;
  const CudaSpan span = args.spans[tree];
  args.allowed[i] = args.paths == nullptr ? span : common(span, args.paths[i]);
}

__global__ void narrow_each_path(CudaNarrowPathsArgs args) {
  const int64_t e = thread_number();
  if (e >= args.relation.num_edges) return;
  CudaSpan span;
  if (args.times.of_edges == nullptr && args.times.of_sources == nullptr) {
    span = args.times.allowed[row_of(args.relation.indptr, args.relation.first_row, e)];
  } else {
    const int64_t position = load_id(args.positions.data, args.positions.wide, e);
    span = span_of(args, time_of(args.edges, args.times, position).value);
  }
  CudaPath& path = args.paths[args.relation.indices[e]];
  atomicMax(&path.first, turn_sign(span.first));
  atomicMax(&path.last, ~turn_sign(span.last));
}

}  // namespace

void cuda_sampling::mark_allowed(int device, const CudaMarkAllowedArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("mark_each_allowed", mark_each_allowed, args.mark.num_edges, stream, args);
}

void cuda_sampling::split_keys(int device, const CudaSplitKeysArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("split_each_key", split_each_key, args.count, stream, args);
}

void cuda_sampling::narrow_paths(int device, const CudaNarrowPathsArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("narrow_each_path", narrow_each_path, args.relation.num_edges, stream, args);
}

}  // namespace ramet
