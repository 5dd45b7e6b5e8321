// LABOR-i: the importances of a hop's sources; docs/semantics.md, section 8, and
// src/sampling/importance.h, which has the algorithm.
#include "base/fanout.h"
#include "kernels/cuda/row_sums.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

// solve_c() of the CPU.
template <typename Team>
__device__ double solve_row(const CudaSolveArgs& args,
                            int64_t row,
                            RowSumMemory& memory,
                            const Team& team) {
  const int64_t begin = args.rows.offset[row], end = args.rows.offset[row + 1];
  if (takes_all(args.fanout, end - begin)) return 1;
  const auto degree = static_cast<double>(end - begin);
  const double target = degree * degree / static_cast<double>(args.fanout);
  double c = 0;
  for (int64_t certain = -1;;) {
    const RowSum pass = sum_row(memory, team, begin, end, [&](int64_t e) {
      const double p = args.p[args.candidate[e]];
      return Term{1 / p, c * p >= 1};
    });
    if (pass.num_left_out <= certain || pass.num_left_out == end - begin) return c;
    certain = pass.num_left_out;
    c = pass.sum / (target - static_cast<double>(pass.num_left_out));
  }
}

__global__ void __launch_bounds__(BlockTeam::kSize) solve_rows(CudaSolveArgs args) {
  __shared__ RowSumMemory shared;
  RowSumMemory& memory = shared;
  for_each_row(args.rows.offset, args.rows.num_dst, [&](int64_t row, const auto& team) {
    const double c = solve_row(args, row, memory, team);
    if (team.thread() == 0) args.c[row] = c;
  });
}

// Doubles that are not negative are in the order of their bits.
__global__ void max_reduce_largest(CudaSolveArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_edges) return;
  const int64_t row = row_of(args.rows.offset, args.rows.first_row, e);
  const double c = args.shares.is_first ? probability({args.shares.share, nullptr, args.c}, row, e)
                                        : args.c[row];
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
  if (args.shares.share != nullptr)
    solve_by_weights(args, stream);
  else
    launch_rows("solve_rows", solve_rows, args.rows.num_dst, stream, args);
  if (args.largest == nullptr) return;
  launch_each("max_reduce_largest", max_reduce_largest, args.num_edges, stream, args);
}

void cuda_sampling::update(int device, double* p, double* largest, int64_t count, void* stream) {
  const DeviceScope scope(device);
  launch_each("update_candidates", update_candidates, count, stream, p, largest, count);
}

}  // namespace ramet
