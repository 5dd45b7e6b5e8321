// Weighted draws by rejection; base/rejection.h, docs/semantics.md, section 13. A warp for each
// row: its lanes read the weights for their largest and their sum, and then make a try each. What
// they accept is taken in the order of tries.
#include "base/rejection.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

// A row that is drawn from by one warp.
struct RowOfTries {
  int64_t number, degree;
  CudaRow place;
};

__device__ double weight_of_row(const CudaTries& args, const RowOfTries& row, int64_t x) {
  return load_weight(args.weights, args.rows, row.number, position_at(args.rows, row.place, x));
}

template <typename T, typename Combine>
__device__ T of_all_lanes(T value, const Combine& combine) {
  for (unsigned distance = 1; distance < kWarp; distance *= 2) {
    const unsigned other = (threadIdx.x % kWarp) ^ distance;
    value = combine(value, __shfl_sync(kAllLanes, value, static_cast<int>(other)));
  }
  return value;
}

__device__ double larger(double a, double b) {
  return a > b ? a : b;
}

__device__ RowTries<double> tries_by_warp(const CudaTries& args, const RowOfTries& row) {
  RowTries<double> of_row;
  for (int64_t x = threadIdx.x % kWarp; x < row.degree; x += kWarp)
    of_row.largest = larger(of_row.largest, weight_of_row(args, row, x));
  of_row.largest = of_all_lanes(of_row.largest, larger);
  if (of_row.largest == 0) return of_row;
  const double scale = kLargestPart / of_row.largest;
  long long parts = 0;
  for (int64_t x = threadIdx.x % kWarp; x < row.degree; x += kWarp)
    parts += static_cast<long long>(part_of_largest(weight_of_row(args, row, x), scale));
  parts = of_all_lanes(parts, [](long long a, long long b) { return a + b; });
  of_row.tries = average_tries(row.degree, static_cast<uint64_t>(parts));
  return of_row;
}

// Whether a row has all its in-edges: no time or exclusion leaves a part alone.
__device__ bool has_all_in_edges(const CudaTries& args, const RowOfTries& row) {
  const int64_t node = args.rows.nodes[row.number];
  const int64_t of_node = args.rows.numbers == nullptr ? node : args.rows.numbers[row.number];
  return __ldg(args.indptr + of_node + 1) - __ldg(args.indptr + of_node) == row.degree;
}

// take(row, x, size) with each accepted position until k were taken; `size` were before. The whole
// warp calls it, and it says whether it takes x.
template <typename Take>
__device__ void draw_by_tries(const CudaTries& args, const Take& take) {
  const int64_t i = thread_number() / kWarp;
  if (i >= args.rows.num_dst) return;  // the whole warp
  const RowOfTries row{i, args.rows.row[i].degree, args.rows.row[i]};
  if (!may_reject(args.fanout, args.replace, row.degree) || !has_all_in_edges(args, row)) return;
  const RowTries<double> of_row = tries_by_warp(args, row);
  if (!draws_by_rejection(args.fanout, args.replace, row.degree, of_row.tries)) return;
  const DrawKeys keys = node_keys(args.keys, args.rows.nodes[i]);
  const int64_t most = most_tries(args.fanout, of_row.tries);
  int64_t size = 0;
  for (int64_t first = 0; first < most && size < args.fanout; first += kWarp) {
    const int64_t t = first + threadIdx.x % kWarp;
    const auto [position, rest] = try_of(absorb(keys.now, kFirstTry + t), row.degree);
    const bool accepted = t < most && fraction_lanes<Scalar>(rest) * of_row.largest <
                                          weight_of_row(args, row, position);
    for (unsigned left = __ballot_sync(kAllLanes, accepted); left != 0 && size < args.fanout;
         left &= left - 1) {
      const int64_t x = __shfl_sync(kAllLanes, position, __ffs(static_cast<int>(left)) - 1);
      if (take(row, x, size)) ++size;
    }
  }
}

// What is picked gets the smallest number there is, which no other in-edge has. Few picks are kept
// by a lane each, so that no try waits for memory to say whether it repeats one.
__global__ void number_few_tries(CudaTries args, uint64_t* number) {
  const int64_t lane = threadIdx.x % kWarp;
  int64_t own = -1;
  draw_by_tries(args, [&](const RowOfTries& row, int64_t x, int64_t size) {
    const bool is_new = __ballot_sync(kAllLanes, own == x) == 0;
    if (is_new && lane == size) {
      own = x;
      number[args.rows.offset[row.number] + x] = 0;
    }
    return is_new;
  });
}

__global__ void number_many_tries(CudaTries args, uint64_t* number) {
  draw_by_tries(args, [&](const RowOfTries& row, int64_t x, int64_t) {
    uint64_t& of_edge = number[args.rows.offset[row.number] + x];
    const bool is_new = of_edge != 0;
    __syncwarp();
    if (threadIdx.x % kWarp == 0) of_edge = 0;
    __syncwarp();
    return is_new;
  });
}

__global__ void store_tries(CudaTries args, CudaPositions positions) {
  draw_by_tries(args, [&](const RowOfTries& row, int64_t x, int64_t size) {
    const int64_t pick = args.rows.offset[row.number] + size;
    if (pick >= args.rows.offset[row.number + 1]) return true;  // weights change meanwhile
    const int64_t to = output_index(args.rows.order, row.number, pick);
    if (threadIdx.x % kWarp == 0)
      store_position(positions, to, position_at(args.rows, row.place, x));
    return true;
  });
}

}  // namespace

void cuda_sampling::number_tries(int device,
                                 const CudaTries& args,
                                 uint64_t* number,
                                 void* stream) {
  const DeviceScope scope(device);
  launch_each("number_tries", args.fanout <= kWarp ? number_few_tries : number_many_tries,
              args.rows.num_dst * kWarp, stream, args, number);
}

void store_tries_over(const CudaTries& args, const CudaPositions& positions, void* stream) {
  launch_each("store_tries", store_tries, args.rows.num_dst * kWarp, stream, args, positions);
}

}  // namespace ramet
