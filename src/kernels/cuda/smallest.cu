// The k in-edges of a row with the smallest numbers; docs/semantics.md, sections 9 and 13. Doubles
// that are not negative are in the order of their bits, so all numbers are integers. Of few the
// lanes of a warp keep the smallest so far in order, a lane each, and merge 32 more at a time.
// Otherwise the k-th is found by its digits, the highest first, as far as they matter: how often
// does each follow the ones before it?
#include "base/fanout.h"
#include "kernels/cuda/edge_time.cuh"
#include "kernels/cuda/mark_edges.cuh"
#include "kernels/cuda/row_teams.cuh"
#include "kernels/cuda/sampling.h"

namespace ramet {
namespace {

__device__ bool takes_all_of(const CudaMarkArgs& mark, int64_t row) {
  return takes_all(mark.fanout, mark.rows.row[row].degree);
}

// The word of an edge is that of its number in the whole row, also where a time leaves a part.
__device__ uint64_t word_of(const CudaNumberEdgesArgs& args, const InEdge& e) {
  const int64_t node = args.mark.rows.nodes[e.row];
  const int64_t row = args.mark.rows.numbers == nullptr ? node : args.mark.rows.numbers[e.row];
  const int64_t x = e.position - __ldg(args.edges.indptr + row);
  return draw(node_keys(args.mark.draws.keys, node), args.mark.draws.tables,
              static_cast<uint64_t>(x));
}

__device__ uint64_t number_by_weight(const CudaNumberEdgesArgs& args, const InEdge& e) {
  const double weight = load_weight(args.weights, args.mark.rows, e.row, e.position);
  if (weight == 0) return kNotDrawn;
  if (takes_all_of(args.mark, e.row)) return 0;
  const double u = fraction_lanes<Scalar>(word_of(args, e));
  return Scalar::as_u64(minus_log_lanes<Scalar>(u) / weight);
}

// `number_of` an InEdge.
template <typename NumberOf>
__device__ void number_each(const CudaNumberEdgesArgs& args, const NumberOf& number_of) {
  const int64_t e = thread_number();
  if (e >= args.mark.num_edges) return;
  const InEdge edge = edge_at(args.mark.rows, e);
  const CudaDrawn drawn = args.tries == nullptr ? CudaDrawn::kNothing : args.tries[edge.row];
  if (drawn == CudaDrawn::kAll || (drawn == CudaDrawn::kSome && args.number[e] == 0)) return;
  args.number[e] = number_of(edge);
}

__global__ void number_by_words(CudaNumberEdgesArgs args) {
  number_each(args, [&](const InEdge& e) { return word_of(args, e); });
}

__global__ void number_by_weights(CudaNumberEdgesArgs args) {
  number_each(args, [&](const InEdge& e) { return number_by_weight(args, e); });
}

__global__ void number_by_times(CudaNumberEdgesArgs args) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  number_each(args, [&](const InEdge& e) {
    return ~(static_cast<uint64_t>(time_of(args.edges, args.times, e.position).value) ^ kSign);
  });
}

constexpr int kDigitBits = 5;  // so that each lane of a warp counts one digit

// The smallest digit that, with all below it, is there `k` times or more: `k` becomes its rank
// among those that have it.
struct Digit {
  unsigned value;
  int64_t count;
};
__device__ Digit find_digit(const unsigned long long* counts, int64_t& k) {
  const unsigned lane = threadIdx.x % kWarp;
  const auto own = static_cast<long long>(counts[lane]);
  long long sum = own;
  for (unsigned distance = 1; distance < kWarp; distance *= 2) {
    const long long other =
        __shfl_sync(kAllLanes, sum, static_cast<int>((lane - distance) % kWarp));
    if (lane >= distance) sum += other;
  }
  const int digit = __ffs(static_cast<int>(__ballot_sync(kAllLanes, sum >= k))) - 1;
  k -= __shfl_sync(kAllLanes, sum - own, digit);
  return {static_cast<unsigned>(digit), __shfl_sync(kAllLanes, own, digit)};
}

// rank == count: all up to `number` are the k smallest. Else it is the k-th, and of the `count`
// that are equal to it `rank` are among them.
struct Selected {
  uint64_t number;
  int64_t rank, count;
};

// The smaller number for the lower of two lanes, whose numbers differ in these bits; the larger one
// for the other.
__device__ uint64_t ordered(uint64_t own, unsigned bits) {
  const unsigned lane = threadIdx.x % kWarp, partner = lane ^ bits;
  const uint64_t other = __shfl_sync(kAllLanes, own, static_cast<int>(partner));
  return (lane < partner) == (other < own) ? other : own;
}

// Lanes' numbers that rise and then fall, or the reverse, in order; then any, by the bitonic sort
// of sort_block.cuh.
__device__ uint64_t merged(uint64_t own, unsigned run = kWarp) {
  for (unsigned distance = run / 2; distance > 0; distance /= 2)
    own = ordered(own, distance);
  return own;
}
__device__ uint64_t sorted(uint64_t own) {
  for (unsigned run = 1; run < kWarp; run *= 2)
    own = merged(ordered(own, 2 * run - 1), run);
  return own;
}

// The limit of the k smallest of number_of(e) for [begin, end): of more than k, which a warp's
// lanes hold.
template <typename NumberOf>
__device__ Selected select_few(int64_t begin, int64_t end, int64_t k, const NumberOf& number_of) {
  const unsigned lane = threadIdx.x % kWarp;
  const auto last = static_cast<int>(k - 1);
  uint64_t smallest = ~uint64_t{0};
  for (int64_t first = begin; first < end; first += kWarp) {
    const int64_t e = first + lane;
    const uint64_t own = e < end ? number_of(e) : ~uint64_t{0};
    // Also one that equals the k-th: it may be the next, which is looked at below.
    if (__ballot_sync(kAllLanes, own <= __shfl_sync(kAllLanes, smallest, last)) == 0) continue;
    const uint64_t mirrored =
        __shfl_sync(kAllLanes, sorted(own), static_cast<int>(kWarp - 1 - lane));
    smallest = merged(mirrored < smallest ? mirrored : smallest);
  }
  const uint64_t kth = __shfl_sync(kAllLanes, smallest, last);
  const int64_t rank = k - __popc(__ballot_sync(kAllLanes, smallest < kth));
  if (k < int64_t{kWarp} && __shfl_sync(kAllLanes, smallest, static_cast<int>(k)) > kth)
    return {kth, rank, rank};
  int64_t count = 0;
  for (int64_t first = begin; first < end; first += kWarp) {
    const int64_t e = first + lane;
    count += __popc(__ballot_sync(kAllLanes, e < end && number_of(e) == kth));
  }
  return {kth, rank, count};
}

// The same for any.
template <typename Team, typename NumberOf>
__device__ Selected select(unsigned long long* counts,
                           Team team,
                           int64_t begin,
                           int64_t end,
                           int64_t k,
                           const NumberOf& number_of) {
  if constexpr (Team::kSize == kWarp)
    if (k <= int64_t{kWarp}) return select_few(begin, end, k, number_of);
  uint64_t before = 0;  // the digits that are found
  Digit digit{};
  for (int shift = 60; shift >= 0; shift -= kDigitBits) {
    if (team.thread() < kWarp) counts[team.thread()] = 0;
    team.wait();
    for (int64_t e = begin + team.thread(); e < end; e += Team::kSize) {
      const uint64_t digits = number_of(e) >> shift;
      if (digits >> kDigitBits == before) atomicAdd(&counts[digits % kWarp], 1ull);
    }
    team.wait();
    digit = find_digit(counts, k);
    before = before << kDigitBits | digit.value;
    team.wait();  // for all to have read the counts
    // Often soon: the smallest k are all that begin so, whatever follows.
    if (k == digit.count) return {before << shift | ((uint64_t{1} << shift) - 1), k, k};
  }
  return {before, k, digit.count};
}

__device__ uint64_t position_among_equal(const CudaMarkSmallestArgs& args, int64_t e) {
  constexpr int64_t kMost = int64_t{1} << 62;
  return static_cast<uint64_t>(args.takes_last ? kMost - e : e);
}

__global__ void __launch_bounds__(BlockTeam::kSize) find_limits(CudaMarkSmallestArgs args) {
  __shared__ unsigned long long shared[kRowWarps][kWarp];
  auto* const by_warp = shared;
  const int64_t* offset = args.mark.rows.offset;
  for_each_row(offset, args.mark.rows.num_dst, [&](int64_t row, auto team) {
    unsigned long long* counts = by_warp[team.kSize == kWarp ? threadIdx.x / kWarp : 0];
    const int64_t begin = offset[row], end = offset[row + 1];
    CudaLimit limit{~uint64_t{0}, ~uint64_t{0}};
    if (!takes_all_of(args.mark, row)) {
      const auto number_of = [&](int64_t e) { return args.number[e]; };
      const Selected kth = select(counts, team, begin, end, args.mark.fanout, number_of);
      limit.number = kth.number;
      const auto position_of_equal = [&](int64_t e) {
        return args.number[e] == kth.number ? position_among_equal(args, e) : ~uint64_t{0};
      };
      if (kth.rank < kth.count)
        limit.position = select(counts, team, begin, end, kth.rank, position_of_equal).number;
    }
    if (team.thread() == 0) args.limit[row] = limit;
  });
}

__global__ void mark_within_limits(CudaMarkSmallestArgs args) {
  mark_accepted(args.mark, [&](const InEdge& e) {
    const uint64_t number = args.number[e.number];
    const CudaLimit limit = args.limit[e.row];
    if (args.are_weighted && number == kNotDrawn) return false;
    return number < limit.number ||
           (number == limit.number && position_among_equal(args, e.number) <= limit.position);
  });
}

}  // namespace

void cuda_sampling::number_edges(int device, const CudaNumberEdgesArgs& args, void* stream) {
  const DeviceScope scope(device);
  const int64_t count = args.mark.num_edges;
  if (args.times.allowed != nullptr) {
    launch_each("number_by_times", number_by_times, count, stream, args);
  } else if (args.weights.data != nullptr) {
    launch_each("number_by_weights", number_by_weights, count, stream, args);
  } else {
    launch_each("number_by_words", number_by_words, count, stream, args);
  }
}

void cuda_sampling::mark_smallest(int device, const CudaMarkSmallestArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_rows("find_limits", find_limits, args.mark.rows.num_dst, stream, args);
  launch_each("mark_within_limits", mark_within_limits, args.mark.num_edges, stream, args);
}

}  // namespace ramet
