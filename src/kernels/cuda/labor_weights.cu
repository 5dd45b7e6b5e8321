// LABOR by weights: each in-edge's share of its row's weight, and the c of rows by shares, or by
// the variance that they have; docs/semantics.md, section 8, and src/sampling/solve_c.cc, which has
// the rounds.
#include <limits>

#include "base/fanout.h"
#include "kernels/cuda/mark_edges.cuh"
#include "kernels/cuda/row_sums.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

__global__ void __launch_bounds__(BlockTeam::kSize) weigh_rows(CudaRows rows, CudaShares to) {
  __shared__ RowSumMemory shared;
  RowSumMemory& memory = shared;
  for_each_row(rows.offset, rows.num_dst, [&](int64_t row, const auto& team) {
    const auto weight_of = [&](int64_t e) {
      return Term{load_weight(to.weights, rows, row, position_of(rows, row, e)), false};
    };
    const double sum = sum_row(memory, team, rows.offset[row], rows.offset[row + 1], weight_of).sum;
    if (team.thread() == 0) to.row_weight[row] = sum;
  });
}

__global__ void mark_large_shares(CudaMarkArgs mark, CudaShares to) {
  mark_accepted(mark, [&](const InEdge& e) {
    const double weight = load_weight(to.weights, mark.rows, e.row, e.position);
    return weight / to.row_weight[e.row] >= kSmallestWeight;  // 0 / 0 is not
  });
}

__global__ void write_shares(CudaSolveArgs args) {
  const int64_t number = thread_number();
  if (number >= args.num_edges) return;
  const InEdge e = edge_at(args.rows, number);
  const double weight = load_weight(args.shares.weights, args.rows, e.row, e.position);
  args.shares.share[number] = weight / args.shares.row_weight[e.row];
}

// solve_c_of_shares() of the CPU.
template <typename Team>
__device__ double solve_by_shares(const CudaSolveArgs& args,
                                  int64_t row,
                                  RowSumMemory& memory,
                                  const Team& team) {
  const int64_t begin = args.rows.offset[row], end = args.rows.offset[row + 1];
  if (takes_all(args.fanout, end - begin)) return std::numeric_limits<double>::infinity();
  double c = 0;
  for (int64_t certain = -1;;) {
    const RowSum pass = sum_row(memory, team, begin, end, [&](int64_t e) {
      const double share = args.shares.share[e];
      return Term{share, c * share >= 1};
    });
    if (pass.num_left_out <= certain || pass.num_left_out >= args.fanout) return c;
    certain = pass.num_left_out;
    c = static_cast<double>(args.fanout - pass.num_left_out) / pass.sum;
  }
}

// variance_of_shares() of the CPU.
template <typename Team>
__device__ double variance_of_row(
    const CudaSolveArgs& args, int64_t row, double c, RowSumMemory& memory, const Team& team) {
  const auto term_of = [&](int64_t e) {
    const double share = args.shares.share[e], scaled = c * share;
    return Term{share * (share / (scaled < 1.0 ? scaled : 1.0) - share), false};
  };
  return sum_row(memory, team, args.rows.offset[row], args.rows.offset[row + 1], term_of).sum;
}

// solve_c_of_variance() of the CPU.
template <typename Team>
__device__ double solve_by_variance(const CudaSolveArgs& args,
                                    int64_t row,
                                    RowSumMemory& memory,
                                    const Team& team) {
  const double variance = args.shares.variance[row];
  if (variance == 0) return 1;
  double c = 0;
  // Over the in-edges that are not certain.
  const auto sum_of = [&](const auto& value_of) {
    const auto term_of = [&](int64_t e) {
      const double p = args.p[args.candidate[e]];
      return Term{value_of(args.shares.share[e], p), c * p >= 1};
    };
    return sum_row(memory, team, args.rows.offset[row], args.rows.offset[row + 1], term_of);
  };
  for (int64_t certain = -1;;) {
    const RowSum pass = sum_of([](double share, double p) { return share * (share / p); });
    if (pass.num_left_out <= certain) return c;
    const double rest = sum_of([](double share, double /*p*/) { return share * share; }).sum;
    const double next = pass.sum / (variance + rest);
    if (!(next > c)) return c;
    certain = pass.num_left_out;
    c = next;
  }
}

__global__ void __launch_bounds__(BlockTeam::kSize) solve_rows_by_shares(CudaSolveArgs args) {
  __shared__ RowSumMemory shared;
  RowSumMemory& memory = shared;
  for_each_row(args.rows.offset, args.rows.num_dst, [&](int64_t row, const auto& team) {
    const double c = solve_by_shares(args, row, memory, team);
    const double variance = variance_of_row(args, row, c, memory, team);
    if (team.thread() != 0) return;
    args.c[row] = c;
    args.shares.variance[row] = variance;
  });
}

__global__ void __launch_bounds__(BlockTeam::kSize) solve_rows_by_variance(CudaSolveArgs args) {
  __shared__ RowSumMemory shared;
  RowSumMemory& memory = shared;
  for_each_row(args.rows.offset, args.rows.num_dst, [&](int64_t row, const auto& team) {
    const double c = solve_by_variance(args, row, memory, team);
    if (team.thread() == 0) args.c[row] = c;
  });
}

}  // namespace

void cuda_sampling::mark_shares(int device,
                                const CudaMarkArgs& mark,
                                const CudaShares& to,
                                void* stream) {
  const DeviceScope scope(device);
  launch_rows("weigh_rows", weigh_rows, mark.rows.num_dst, stream, mark.rows, to);
  launch_each("mark_large_shares", mark_large_shares, mark.num_edges, stream, mark, to);
}

void solve_by_weights(const CudaSolveArgs& args, void* stream) {
  if (!args.shares.is_first)
    return launch_rows("solve_rows_by_variance", solve_rows_by_variance, args.rows.num_dst, stream,
                       args);
  launch_each("write_shares", write_shares, args.num_edges, stream, args);
  launch_rows("solve_rows_by_shares", solve_rows_by_shares, args.rows.num_dst, stream, args);
}

}  // namespace ramet
