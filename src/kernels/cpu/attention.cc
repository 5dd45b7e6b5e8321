#include "attention.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "attention_lanes.h"
#include "isa_kernels.h"

namespace ramet {
namespace {

// The portable twin of the vector lanes.
template <typename T>
struct Portable {
  struct Values {
    T at[kLanes];
  };
  using Exp = std::conditional_t<std::is_same_v<T, float>, FloatExp, DoubleExp>;
  using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;

  template <typename Body>
  static Values each(const Body& body) {
    Values result;
    for (int i = 0; i < kLanes; ++i)
      result.at[i] = body(i);
    return result;
  }
  static Values load(const T* p) {
    return each([&](int i) { return p[i]; });
  }
  static void store(T* p, const Values& v) { std::copy_n(v.at, kLanes, p); }
  static Values load_part(const T* p, int64_t count) {
    return each([&](int i) { return i < count ? p[i] : T{0}; });
  }
  static void store_part(T* p, int64_t count, const Values& v) { std::copy_n(v.at, count, p); }
  static Values fill(T v) {
    return each([&](int) { return v; });
  }
  static Values add(const Values& a, const Values& b) {
    return each([&](int i) { return a.at[i] + b.at[i]; });
  }
  static Values sub(const Values& a, const Values& b) {
    return each([&](int i) { return a.at[i] - b.at[i]; });
  }
  static Values mul(const Values& a, const Values& b) {
    return each([&](int i) { return a.at[i] * b.at[i]; });
  }
  static Values max(const Values& a, const Values& b) {
    return each([&](int i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
  }
  static Values if_positive(const Values& v, const Values& a, const Values& b) {
    return each([&](int i) { return v.at[i] > 0 ? a.at[i] : b.at[i]; });
  }
  static Values keep_above(const Values& v, const Values& least, const Values& a) {
    return each([&](int i) { return v.at[i] < least.at[i] ? T{0} : a.at[i]; });
  }
  // 2^n, where n is in the low bits of `shifted`.
  static Values power_of_two(const Values& shifted) {
    constexpr int kMantissa = std::is_same_v<T, float> ? 23 : 52;
    constexpr Bits kBias = std::is_same_v<T, float> ? 127 : 1023;
    return each([&](int i) {
      return std::bit_cast<T>((std::bit_cast<Bits>(shifted.at[i]) + kBias) << kMantissa);
    });
  }
  static T sum(Values v) {
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i)
        v.at[i] += v.at[i + half];
    }
    return v.at[0];
  }
};

}  // namespace

AttentionKernels<float> attention_portable() {
  return attention_lanes<Portable<float>, float>();
}

template <>
AttentionKernels<float> attention_kernels() {
  return best_kernels().attention;
}

template <>
AttentionKernels<double> attention_kernels() {
  return attention_lanes<Portable<double>, double>();
}

}  // namespace ramet
