// Floyd's algorithm (Bentley, Floyd: "A sample of brilliance", CACM 1987) for many picks of a row,
// by a warp, 32 steps at a time. The picks are a bit for each in-edge: that makes asking whether an
// edge is picked one access, and they come out in ascending order.
//
// Step t draws x in [0, j], j = d - k + t, and picks x, or j if x is picked already. That is so if
// x was picked by an earlier 32 steps, or drawn by an earlier one of these, or if it is the j of an
// earlier one of these, and that picked its j: a chain that is followed until nothing changes.
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

__device__ void mark(uint32_t* marks, int64_t e) {
  atomicOr(&marks[e / kWarp], 1u << (e % kWarp));
}

// Past the first level of caches, which does not see what atomic operations do.
__device__ bool is_marked(const uint32_t* marks, int64_t e) {
  return (__ldcg(&marks[e / kWarp]) >> (e % kWarp) & 1) != 0;
}

// In-edges [begin, end), by a warp.
__device__ void mark_all(uint32_t* marks, int64_t begin, int64_t end, unsigned lane) {
  for (int64_t word = begin / kWarp + lane; word * kWarp < end; word += kWarp) {
    uint32_t bits = ~0u;
    if (word * kWarp < begin) bits &= ~0u << (begin % kWarp);
    if (word * kWarp + kWarp > end) bits &= ~(~0u << (end % kWarp));
    atomicOr(&marks[word], bits);
  }
}

// Whether the lane's step picks its j. `x_lanes` are lanes before this one that drew the same, and
// `was_marked` what the steps before these picked.
__device__ bool picks_j(bool is_step, bool x_is_picked, int64_t x, int64_t first_j, unsigned lane) {
  const int64_t step_of_x = x - first_j;  // whose j it is
  const bool refers = is_step && step_of_x >= 0 && step_of_x < lane;
  bool result = x_is_picked;
  unsigned now = __ballot_sync(kAllLanes, result), before = 0;
  while (now != before) {
    before = now;
    if (refers && (now >> step_of_x & 1) != 0) result = true;
    now = __ballot_sync(kAllLanes, result);
  }
  return result;
}

__global__ void mark_by_floyd(CudaMarkArgs args) {
  const int64_t i = thread_number() / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  if (i >= args.rows.num_dst) return;  // the whole warp
  const int64_t first = args.rows.offset[i], degree = args.rows.offset[i + 1] - first;
  const int64_t k = args.fanout;
  if (degree <= k) return mark_all(args.marks, first, first + degree, lane);
  const DrawKeys keys = node_keys(args.draws.keys, args.rows.nodes[i]);
  for (int64_t done = 0; done < k; done += kWarp) {
    const int64_t t = done + lane, first_j = degree - k + done;
    const bool is_step = t < k;
    // Lanes without a step draw what nobody else does.
    const int64_t x =
        is_step ? draw_below(keys, args.draws.tables, t, first_j + lane + 1) : -1 - int64_t{lane};
    const unsigned same = __match_any_sync(kAllLanes, static_cast<unsigned long long>(x));
    const bool x_is_picked =
        is_step && ((same & ((1u << lane) - 1)) != 0 || is_marked(args.marks, first + x));
    const bool takes_j = picks_j(is_step, x_is_picked, x, first_j, lane);
    if (is_step) mark(args.marks, first + (takes_j ? first_j + lane : x));
    __syncwarp();
  }
}

}  // namespace

void cuda_sampling::mark_floyd(int device, const CudaMarkArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("mark_by_floyd", mark_by_floyd, args.rows.num_dst * kWarp, stream, args);
}

}  // namespace ramet
