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

// Weights of a row. Lanes keep those of a row of up to 128, which are then read once: they may be
// on the host.
class RowWeights {
 public:
  __device__ RowWeights(const CudaTries& args, const RowOfTries& row) : args_(args), row_(row) {
    for (int i = 0; i < kKept; ++i) {
      const int64_t x = lane() + int64_t{kWarp} * i;
      kept_[i] = x < row.degree ? load(x) : 0;
    }
  }

  // result = combine(result, weight) with those of this lane, in order.
  template <typename T, typename Combine>
  __device__ T of_lane(T result, const Combine& combine) const {
    for (int i = 0; i < kKept; ++i)
      if (lane() + int64_t{kWarp} * i < row_.degree) result = combine(result, kept_[i]);
    for (int64_t x = lane() + int64_t{kWarp} * kKept; x < row_.degree; x += kWarp)
      result = combine(result, load(x));
    return result;
  }

  // The weight at `x`, which may differ by lane. The whole warp calls it.
  __device__ double at(int64_t x) const {
    if (row_.degree > int64_t{kWarp} * kKept) return load(x);
    double result = 0;
    for (int i = 0; i < kKept; ++i) {
      const double of_lane = __shfl_sync(kAllLanes, kept_[i], static_cast<int>(x % kWarp));
      if (x / kWarp == i) result = of_lane;
    }
    return result;
  }

 private:
  static constexpr int kKept = 4;
  __device__ static int64_t lane() { return threadIdx.x % kWarp; }
  __device__ double load(int64_t x) const {
    return load_weight(args_.weights, args_.rows, row_.number,
                       position_at(args_.rows, row_.place, x));
  }

  const CudaTries& args_;
  const RowOfTries& row_;
  double kept_[kKept];
};

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

__device__ RowTries<double> tries_by_warp(const RowWeights& weights, int64_t degree) {
  RowTries<double> of_row;
  of_row.largest = of_all_lanes(weights.of_lane(0.0, larger), larger);
  if (of_row.largest == 0) return of_row;
  const double scale = kLargestPart / of_row.largest;
  const auto add_part = [&](long long sum, double weight) {
    return sum + static_cast<long long>(part_of_largest(weight, scale));
  };
  const long long parts =
      of_all_lanes(weights.of_lane(0LL, add_part), [](long long x, long long y) { return x + y; });
  of_row.tries = average_tries(degree, static_cast<uint64_t>(parts));
  return of_row;
}

// Whether a row has all its in-edges: no time or exclusion leaves a part alone.
__device__ bool has_all_in_edges(const CudaTries& args, const RowOfTries& row) {
  const int64_t node = args.rows.nodes[row.number];
  const int64_t of_node = args.rows.numbers == nullptr ? node : args.rows.numbers[row.number];
  return __ldg(args.indptr + of_node + 1) - __ldg(args.indptr + of_node) == row.degree;
}

// begin(row), and then take(row, x, size) with each accepted position until k were taken; `size`
// were before. The whole warp calls them, and take() says whether it takes x. Returns what was
// drawn of row `i`.
template <typename Begin, typename Take>
__device__ CudaDrawn
draw_by_tries(const CudaTries& args, int64_t i, const Begin& begin, const Take& take) {
  const RowOfTries row{i, args.rows.row[i].degree, args.rows.row[i]};
  if (!may_reject(args.fanout, args.replace, row.degree) || !has_all_in_edges(args, row))
    return CudaDrawn::kNothing;
  const RowWeights weights(args, row);
  const RowTries<double> of_row = tries_by_warp(weights, row.degree);
  if (!draws_by_rejection(args.fanout, args.replace, row.degree, of_row.tries))
    return CudaDrawn::kNothing;
  begin(row);
  const DrawKeys keys = node_keys(args.keys, args.rows.nodes[i]);
  const int64_t most = most_tries(args.fanout, of_row.tries);
  int64_t size = 0;
  for (int64_t first = 0; first < most && size < args.fanout; first += kWarp) {
    const int64_t t = first + threadIdx.x % kWarp;
    const auto [position, rest] = try_of(absorb(keys.now, kFirstTry + t), row.degree);
    const double weight = weights.at(position);
    const bool accepted = t < most && fraction_lanes<Scalar>(rest) * of_row.largest < weight;
    for (unsigned left = __ballot_sync(kAllLanes, accepted); left != 0 && size < args.fanout;
         left &= left - 1) {
      const int64_t x = __shfl_sync(kAllLanes, position, __ffs(static_cast<int>(left)) - 1);
      if (take(row, x, size)) ++size;
    }
  }
  return size < args.fanout ? CudaDrawn::kSome : CudaDrawn::kAll;
}

// What is picked gets the smallest number there is, which no other in-edge has.
template <typename Take>
__device__ void number_by_tries(const CudaNumberTriesArgs& args, const Take& take) {
  const int64_t i = thread_number() / kWarp, lane = threadIdx.x % kWarp;
  const CudaRows& rows = args.tries.rows;
  if (i >= rows.num_dst) return;  // the whole warp
  const auto begin = [&](const RowOfTries& row) {
    for (int64_t x = lane; x < row.degree; x += kWarp)
      args.number[rows.offset[i] + x] = kNotDrawn;
    __syncwarp();
  };
  const CudaDrawn drawn = draw_by_tries(args.tries, i, begin, take);
  if (lane == 0) args.drawn[i] = drawn;
}

// Few picks are kept by a lane each, so that no try waits for memory to say whether it repeats one.
__global__ void number_few_tries(CudaNumberTriesArgs args) {
  const int64_t lane = threadIdx.x % kWarp;
  int64_t own = -1;
  number_by_tries(args, [&](const RowOfTries& row, int64_t x, int64_t size) {
    const bool is_new = __ballot_sync(kAllLanes, own == x) == 0;
    if (is_new && lane == size) {
      own = x;
      args.number[args.tries.rows.offset[row.number] + x] = 0;
    }
    return is_new;
  });
}

__global__ void number_many_tries(CudaNumberTriesArgs args) {
  number_by_tries(args, [&](const RowOfTries& row, int64_t x, int64_t) {
    uint64_t& of_edge = args.number[args.tries.rows.offset[row.number] + x];
    const bool is_new = of_edge != 0;
    __syncwarp();
    if (threadIdx.x % kWarp == 0) of_edge = 0;
    __syncwarp();
    return is_new;
  });
}

__global__ void store_tries(CudaTries args, CudaPositions positions) {
  const int64_t i = thread_number() / kWarp;
  if (i >= args.rows.num_dst) return;  // the whole warp
  const auto take = [&](const RowOfTries& row, int64_t x, int64_t size) {
    const int64_t pick = args.rows.offset[row.number] + size;
    if (pick >= args.rows.offset[row.number + 1]) return true;  // weights change meanwhile
    const int64_t to = output_index(args.rows.order, row.number, pick);
    if (threadIdx.x % kWarp == 0)
      store_position(positions, to, position_at(args.rows, row.place, x));
    return true;
  };
  draw_by_tries(args, i, [](const RowOfTries&) {}, take);
}

}  // namespace

void cuda_sampling::number_tries(int device, const CudaNumberTriesArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("number_tries", args.tries.fanout <= kWarp ? number_few_tries : number_many_tries,
              args.tries.rows.num_dst * kWarp, stream, args);
}

void store_tries_over(const CudaTries& args, const CudaPositions& positions, void* stream) {
  launch_each("store_tries", store_tries, args.rows.num_dst * kWarp, stream, args, positions);
}

}  // namespace ramet
