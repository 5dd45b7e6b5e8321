// LABOR-i: the importances of a hop's sources; docs/semantics.md, section 8, and
// src/sampling/importance.h, which has the algorithm.
//
// A warp takes a row, whose sum must have the bits of one that is added in the order of its edges.
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

// What one pass over a row finds for a given c.
struct Pass {
  double sum;     // of 1 / p over the edges with c p < 1
  int64_t count;  // of the others
};

__device__ Pass add_up(const CudaSolveArgs& args, int64_t begin, int64_t end, double c) {
  int64_t count = 0;
  const double sum = sum_in_order(begin, end, [&](int64_t e) {
    const double p = e < end ? args.p[args.candidate[e]] : 1;
    const bool is_certain = e < end && c * p >= 1;
    count += __popc(__ballot_sync(kAllLanes, is_certain));
    return e < end && !is_certain ? 1 / p : 0;
  });
  return {sum, count};
}

// solve_c() of the CPU.
__global__ void solve_rows(CudaSolveArgs args) {
  const int64_t i = thread_number() / kWarp;
  if (i >= args.rows.num_dst) return;  // the whole warp
  const int64_t begin = args.rows.offset[i], end = args.rows.offset[i + 1];
  const auto degree = static_cast<double>(end - begin);
  double c = 1;
  if (args.fanout >= 0 && args.fanout < end - begin) {
    const double target = degree * degree / static_cast<double>(args.fanout);
    c = 0;
    for (int64_t certain = -1;;) {
      const Pass pass = add_up(args, begin, end, c);
      if (pass.count <= certain || pass.count == end - begin) break;
      certain = pass.count;
      c = pass.sum / (target - static_cast<double>(pass.count));
    }
  }
  if (threadIdx.x % kWarp == 0) args.c[i] = c;
}

// Doubles that are not negative are in the order of their bits.
__global__ void max_reduce_largest(CudaSolveArgs args) {
  const int64_t row = row_of_thread(args.rows.offset, args.rows.num_dst);
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  const double c = args.c[row];
  double* largest = &args.largest[args.candidate[e]];
  if (!(__ldcg(largest) < c)) return;
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(c)));
}

__global__ void begin_candidates(double* p, double* largest, int64_t count) {
  const int64_t i = thread_number();
  if (i >= count) return;
  p[i] = 1;
  largest[i] = 0;
}

__global__ void update_candidates(double* p, double* largest, int64_t count) {
  const int64_t i = thread_number();
  if (i >= count) return;
  p[i] = p[i] * largest[i];
  largest[i] = 0;
}

}  // namespace

void cuda_sampling::begin_importance(
    int device, double* p, double* largest, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("begin_candidates", begin_candidates, count, stream, p, largest, count);
}

void cuda_sampling::solve(int device, const CudaSolveArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("solve_rows", solve_rows, args.rows.num_dst * kWarp, stream, args);
  if (args.largest == nullptr) return;
  launch_each("max_reduce_largest", max_reduce_largest, args.num_edges, stream, args);
}

void cuda_sampling::update(int device, double* p, double* largest, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("update_candidates", update_candidates, count, stream, p, largest, count);
}

}  // namespace ramet
