// The kernels of weighted_scan.h; see lanes.h for `L`. Words and numbers have a 64-bit lane per
// edge. The test of candidates, which takes most of the time, needs the upper bits of words alone:
// it has a 32-bit lane per edge, and is a bound, so floats do. Numbers of what is left are exact.
#pragma once

#include <cstdint>

#include "base/exponential_lanes.h"
#include "draw_keys_lanes.h"
#include "lanes.h"
#include "weighted_scan.h"

namespace ramet {

template <typename L>
inline constexpr int kLaneDoubles = L::kCount / 2;

template <typename L>
double sum_lanes(const double* weights, int64_t count) {
  constexpr int kStep = kLaneDoubles<L>;
  const auto smallest = L::fill_f64(kSmallestWeight), largest = L::fill_f64(kLargestWeight);
  auto sum = L::fill_f64(0);
  uint32_t wrong = 0;
  const auto add = [&](auto w) {
    const uint32_t is_weight =
        (L::at_most_f64(smallest, w) & L::at_most_f64(w, largest)) |
        (L::at_most_f64(w, L::fill_f64(0)) & L::at_most_f64(L::fill_f64(0), w));
    wrong |= ~is_weight & ((1U << kStep) - 1);
    sum = L::add_f64(sum, w);
  };
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    add(L::load_f64(weights + i));
  if (i < count) add(L::load_f64(weights + i, static_cast<int>(count - i)));
  if (wrong != 0) return __builtin_nan("");
  alignas(64) double sums[kStep];
  L::store_f64(sums, sum);
  double total = 0;
  for (const double of_lane : sums)
    total += of_lane;
  return total;
}

template <typename L>
double sum_lanes(const float* weights, int64_t count) {
  auto highest = L::fill32(0);
  auto even = L::fill_f32(0), odd = even;
  const auto add = [&](auto& sum, auto w) {
    highest = L::max32(highest, L::as_u32(w));
    sum = L::add_f32(sum, w);
  };
  int64_t i = 0;
  for (; i + 2 * L::kCount <= count; i += 2 * L::kCount) {
    add(even, L::load_f32(weights + i));
    add(odd, L::load_f32(weights + i + L::kCount));
  }
  if (i + L::kCount <= count) {
    add(even, L::load_f32(weights + i));
    i += L::kCount;
  }
  if (i < count) add(odd, L::load_f32(weights + i, static_cast<int>(count - i)));
  if (!all_at_most<L>(highest, L::fill32(kLargestFloat))) return __builtin_nan("");
  alignas(64) float sums[L::kCount];
  L::store_f32(sums, L::add_f32(even, odd));
  for (int half = L::kCount / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane)
      sums[lane] += sums[lane + half];
  }
  return static_cast<double>(sums[0]);
}

template <typename Weight>
static double add_in_order(const Weight* weights, int64_t count, double before, double* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = before += static_cast<double>(weights[i]);
  return before;
}

template <typename L>
double running_lanes(const double* weights, int64_t count, double before, double* out) {
  if (__builtin_isnan(sum_lanes<L>(weights, count))) return __builtin_nan("");
  return add_in_order(weights, count, before, out);
}

// All sums of floats are multiples of the last bit of the lowest. Where that is at least 2^-53 of
// the whole sum they are exact, so they may be added in any order; the lowest itself is then at
// least 2^-29 of it.
template <typename L>
double running_lanes(const float* weights, int64_t count, double before, double* out) {
  constexpr int kStep = kLaneDoubles<L>;
  const auto minus_1 = L::fill32(~0U);
  auto highest = L::fill32(0), lowest = minus_1;  // lowest less 1: 0 is no lowest
  auto sum = L::fill_f64(0);
  const auto add = [&](const float* from, double* to) {
    const auto bits = L::as_u32(L::load_f32(from));
    highest = L::max32(highest, bits);
    lowest = L::min32(lowest, L::add32(bits, minus_1));
    for (int half = 0; half < L::kCount; half += kStep) {
      const auto running = L::add_f64(sum, L::running_f64(L::load_f64(from + half)));
      L::store_f64(to + half, running);
      sum = L::last_f64(running);
    }
  };
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount)
    add(weights + i, out + i);
  if (i < count) {
    alignas(64) float rest[L::kCount];
    L::store_f32(rest, L::load_f32(weights + i, static_cast<int>(count - i)));
    add(rest, out + i);
  }
  if (!all_at_most<L>(highest, L::fill32(kLargestFloat))) return __builtin_nan("");
  const auto least = L::as_u32(L::fill_f32(static_cast<float>(out[count - 1] * 0x1p-28)));
  if (before == 0 && all_at_most<L>(L::add32(least, minus_1), lowest)) return out[count - 1];
  return add_in_order(weights, count, before, out);
}

// Weights times a bound times 2^31, with more slack than floats are off by; the second form those
// of the first `left` edges, and then 0. Weights of 0 give 0, or what is no number.
template <typename L>
struct ScaledWeights {
  explicit ScaledWeights(double bound)
      : of_floats(L::fill_f32(as_float(bound * kScale))), of_doubles(L::fill_f64(bound * kScale)) {}

  auto operator()(const float* weights) const {
    return L::mul_f32(L::load_f32(weights), of_floats);
  }
  auto operator()(const float* weights, int left) const {
    return L::mul_f32(L::load_f32(weights, left), of_floats);
  }
  auto operator()(const double* weights) const {
    return narrow(L::load_f64(weights), L::load_f64(weights + kLaneDoubles<L>));
  }
  auto operator()(const double* weights, int left) const {
    constexpr int kStep = kLaneDoubles<L>;
    if (left <= kStep) return narrow(L::load_f64(weights, left), L::fill_f64(0));
    return narrow(L::load_f64(weights), L::load_f64(weights + kStep, left - kStep));
  }

 private:
  static constexpr double kScale = 0x1p31 * (1 + 0x1p-18);
  // Tiny ones, of which a float has few digits, are raised.
  static float as_float(double scaled) {
    if (scaled > 0x1p127) return __builtin_inff();
    return scaled < 0x1p-100 ? 0x1p-100F : static_cast<float>(scaled);
  }
  auto narrow(typename L::F64 low, typename L::F64 high) const {
    return L::narrow_f32(L::mul_f64(low, of_doubles), L::mul_f64(high, of_doubles));
  }

  typename L::F32 of_floats;
  typename L::F64 of_doubles;
};

template <typename L, typename Keys, typename Weight>
int64_t candidates_by_keys(const DrawKeys& keys,
                           const uint64_t* streams,
                           const Weight* weights,
                           int64_t count,
                           double bound,
                           uint32_t* found) {
  const Keys lanes = Keys::fill(keys);
  const ScaledWeights<L> scaled(bound);
  const auto bits_at = [&](int64_t i, auto most) {  // 2^31 a, rounded down
    const auto top = L::upper31(lanes.draw_top(L::load(streams + i)),
                                lanes.draw_top(L::load(streams + i + kLaneDoubles<L>)));
    const auto a = L::float_of31(L::bit_xor(top, L::fill32(0x7fffffff)));
    const auto half = L::mul_f32(a, L::fill_f32(0x1p-32F));
    return L::less_f32(L::add_f32(a, L::mul_f32(a, half)), most);
  };
  auto number = L::iota32();
  uint32_t* out = found;
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount) {
    out += L::pack(out, bits_at(i, scaled(weights + i)), number);
    number = L::add32(number, L::fill32(L::kCount));
  }
  if (i < count)
    out += L::pack(out, bits_at(i, scaled(weights + i, static_cast<int>(count - i))), number);
  L::pack(out, 0, L::fill32(0));  // what is read behind the end are numbers, too
  return out - found;
}

template <typename L, typename Weight>
int64_t candidate_lanes(const DrawKeys& keys,
                        const uint64_t* streams,
                        const Weight* weights,
                        int64_t count,
                        double bound,
                        uint32_t* found) {
  const auto by_keys = keys.mixture.plain ? candidates_by_keys<L, PlainKeys<L>, Weight>
                                          : candidates_by_keys<L, DependentKeys<L>, Weight>;
  return by_keys(keys, streams, weights, count, bound, found);
}

template <typename L, typename Keys, typename Weight>
int64_t numbers_by_keys(const DrawKeys& keys,
                        const uint64_t* streams,
                        const Weight* weights,
                        const uint32_t* found,
                        int64_t count,
                        double bound,
                        double* out) {
  constexpr int kStep = kLaneDoubles<L>;
  const Keys lanes = Keys::fill(keys);
  const auto* stream_bits = reinterpret_cast<const double*>(streams);
  int64_t within = 0;
  for (int64_t i = 0; i < count; i += kStep) {
    const auto word = lanes.draw(L::as_u64(L::load_f64(stream_bits, found + i)));
    const auto number =
        L::div_f64(minus_log_lanes<L>(fraction_lanes<L>(word)), L::load_f64(weights, found + i));
    L::store(out + i, L::as_u64(number));
    const uint32_t inside = count - i < kStep ? (1U << (count - i)) - 1 : (1U << kStep) - 1;
    within += __builtin_popcount(L::at_most_f64(number, L::fill_f64(bound)) & inside);
  }
  return within;
}

template <typename L, typename Weight>
int64_t number_lanes(const DrawKeys& keys,
                     const uint64_t* streams,
                     const Weight* weights,
                     const uint32_t* found,
                     int64_t count,
                     double bound,
                     double* out) {
  const auto by_keys = keys.mixture.plain ? numbers_by_keys<L, PlainKeys<L>, Weight>
                                          : numbers_by_keys<L, DependentKeys<L>, Weight>;
  return by_keys(keys, streams, weights, found, count, bound, out);
}

template <typename L>
void try_lanes(const DrawKeys& keys, int64_t row_degree, int64_t first, SomeTries& out) {
  constexpr int kStep = kLaneDoubles<L>;
  alignas(64) uint64_t of_lane[kStep];
  for (int lane = 0; lane < kStep; ++lane)
    of_lane[lane] = kLaneGolden * (kFirstTry + static_cast<uint64_t>(first + lane + 1));
  const PlainKeys<L> key = PlainKeys<L>::fill(keys);
  const auto degree = L::fill64(static_cast<uint64_t>(row_degree));
  auto stream = L::load(of_lane);
  for (int64_t t = 0; t < SomeTries::kCount; t += kStep) {
    const auto word = key.draw(stream), low = L::mul32(word, degree);
    const auto scaled = L::add64(L::mul32(L::template shift_right<32>(word), degree),
                                 L::template shift_right<32>(low));
    L::store(out.position + t, L::template shift_right<32>(scaled));
    L::store(out.rest + t, L::even_odd(low, L::template shift_left<32>(scaled)));
    stream = L::add64(stream, L::fill64(kLaneGolden * uint64_t{kStep}));
  }
}

// What codes say of tries: a bit for each that they accept, and for each that they do not refuse.
template <typename L>
struct TriesByCode {
  TriesByCode(const uint16_t* codes, const uint64_t* positions, typename L::U64 rest) {
    uint16_t of_lane[kLaneDoubles<L>];
    for (int lane = 0; lane < kLaneDoubles<L>; ++lane)
      of_lane[lane] = codes[positions[lane]];
    const auto code = L::load_ids(of_lane), drawn = L::template shift_right<48>(rest);
    accepted = L::at_most(L::add64(drawn, L::fill64(2)), code);
    possible = L::at_most(drawn, code);
  }

  uint32_t accepted, possible;
};

// Which of these lanes the weights accept: one after the other, for there are few, and no weight is
// read for the others.
template <typename L, typename Weight>
uint32_t accepted_by_weights(const TriedRow<Weight>& row,
                             const uint64_t* positions,
                             typename L::F64 drawn,
                             uint32_t lanes) {
  alignas(64) double least[kLaneDoubles<L>];
  L::store_f64(least, drawn);
  uint32_t accepted = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    if (least[lane] < static_cast<double>(row.weights[positions[lane]])) accepted |= 1U << lane;
  }
  return accepted;
}

template <typename L, typename Weight>
int64_t accepted_lanes(const TriedRow<Weight>& row,
                       const SomeTries& tries,
                       int64_t count,
                       uint32_t* out) {
  const auto largest = L::fill_f64(row.largest);
  uint32_t* end = out;
  for (int64_t t = 0; t < count; t += kLaneDoubles<L>) {
    const uint64_t* const positions = tries.position + t;
    const auto rest = L::load(tries.rest + t);
    const auto drawn = L::mul_f64(fraction_lanes<L>(rest), largest);
    uint32_t accepted;
    if (row.codes == nullptr) {
      const auto weight = L::load_f64(row.weights, positions);
      accepted = L::at_most_f64(drawn, weight) & ~L::at_most_f64(weight, drawn);
    } else {
      const TriesByCode<L> by_code(row.codes, positions, rest);
      accepted = by_code.accepted;
      if (const uint32_t undecided = by_code.possible & ~accepted; undecided != 0)
        accepted |= accepted_by_weights<L>(row, positions, drawn, undecided);
    }
    end += L::pack_low(end, accepted, L::load(positions));
  }
  return end - out;
}

// Each number is compared with each: without a branch, that is faster than selecting.
template <typename L>
int64_t smallest_lanes(const double* numbers, int64_t count, int64_t k, uint32_t* found) {
  constexpr int kHalf = kLaneDoubles<L>;
  const auto most = L::fill64(static_cast<uint64_t>(k - 1));
  uint32_t* out = found;
  for (int64_t i = 0; i < count; i += L::kCount) {
    const auto low = L::load_f64(numbers + i), high = L::load_f64(numbers + i + kHalf);
    auto below_low = L::fill64(0), below_high = L::fill64(0);
    for (int64_t j = 0; j < count; ++j) {
      const auto other = L::fill_f64(numbers[j]);
      below_low = L::count_less(below_low, other, low);
      below_high = L::count_less(below_high, other, high);
    }
    const uint32_t kept = L::at_most(below_low, most) | L::at_most(below_high, most) << kHalf;
    const uint32_t inside = count - i < L::kCount ? (1U << (count - i)) - 1 : (1U << L::kCount) - 1;
    out += L::pack(out, kept & inside, L::load(found + i));
  }
  return out - found;
}

template <typename L, typename Weight>
WeightedScan<Weight> weighted_scan_lanes() {
  return {sum_lanes<L>, running_lanes<L>, candidate_lanes<L, Weight>, number_lanes<L, Weight>,
          accepted_lanes<L, Weight>};
}

template <typename L>
WeightedKernel weighted_lanes() {
  return {weighted_scan_lanes<L, float>(), weighted_scan_lanes<L, double>(), smallest_lanes<L>,
          try_lanes<L>};
}

}  // namespace ramet
