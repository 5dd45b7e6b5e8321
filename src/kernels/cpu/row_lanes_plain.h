// Vectors of a row's elements in plain C++: what the vector files fall back on, and the definition
// of their bits. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "base/narrow.h"

namespace ramet {
namespace {

// kCount elements in plain C++, which compilers turn into what vectors the processor always has.
template <typename T, int64_t kCount>
struct Plain {
  struct Vector {
    T v[kCount];
  };
  using Scalar = T;
  static constexpr int64_t kLanes = kCount;
  static constexpr bool kIsPlain = true;

  template <typename F>
  static Vector map(const Vector& a, const Vector& b, F f) {
    Vector result;
    for (int64_t i = 0; i < kCount; ++i)
      result.v[i] = f(a.v[i], b.v[i]);
    return result;
  }
  static Vector fill(T v) {
    Vector result;
    for (int64_t i = 0; i < kCount; ++i)
      result.v[i] = v;
    return result;
  }
  static Vector add(const Vector& a, const Vector& b) {
    return map(a, b, [](T x, T y) { return x + y; });
  }
  static Vector mul(const Vector& a, const Vector& b) {
    return map(a, b, [](T x, T y) { return x * y; });
  }
  static Vector div(const Vector& a, const Vector& b) {
    return map(a, b, [](T x, T y) { return x / y; });
  }
  static Vector max(const Vector& a, const Vector& b) {
    return keep_nan(a, map(a, b, [](T x, T y) { return x > y ? x : y; }));
  }
  static Vector min(const Vector& a, const Vector& b) {
    return keep_nan(a, map(a, b, [](T x, T y) { return x < y ? x : y; }));
  }
  static Vector keep_nan(const Vector& a, const Vector& other) {
    return map(a, other, [](T x, T y) { return x != x ? x : y; });
  }
  static Vector where_equal(const Vector& a, const Vector& b, const Vector& value) {
    Vector result;
    for (int64_t i = 0; i < kCount; ++i)
      result.v[i] = a.v[i] < b.v[i] || a.v[i] > b.v[i] ? T{0} : value.v[i];
    return result;
  }
  static T sum(Vector v) {
    for (int64_t half = kCount / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < half; ++i)
        v.v[i] += v.v[i + half];
    return v.v[0];
  }
  static void fence() {}
};

// Elements as they are.
template <typename T, int64_t kCount>
struct PlainFull : Plain<T, kCount> {
  using typename Plain<T, kCount>::Vector;
  static constexpr int64_t kBytes = sizeof(T);
  static Vector load(const char* p) {
    Vector result;
    std::memcpy(&result, p, sizeof result);
    return result;
  }
  static void store(char* p, const Vector& v) { std::memcpy(p, &v, sizeof v); }
  static void stream(char* p, const Vector& v) { store(p, v); }
};

inline float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

// Elements of 16 bits.
template <float (*kWiden)(uint16_t), DType kType, int64_t kCount>
struct PlainHalves : Plain<float, kCount> {
  using typename Plain<float, kCount>::Vector;
  static constexpr int64_t kBytes = 2;
  static Vector load(const char* p) {
    uint16_t bits[kCount];
    std::memcpy(bits, p, sizeof bits);
    Vector result;
    for (int64_t i = 0; i < kCount; ++i)
      result.v[i] = kWiden(bits[i]);
    return result;
  }
  static void store(char* p, const Vector& v) {
    uint16_t bits[kCount];
    narrow_row(v.v, kCount, kType, bits);
    std::memcpy(p, bits, sizeof bits);
  }
  static void stream(char* p, const Vector& v) { store(p, v); }
};

template <int64_t kCount>
using PlainBFloat16 = PlainHalves<from_bfloat16, DType::kBFloat16, kCount>;
template <int64_t kCount>
using PlainFloat16 = PlainHalves<from_half, DType::kFloat16, kCount>;

// Elements of 8 bits, which are loaded alone.
template <int64_t kCount>
struct PlainInt8 : Plain<float, kCount> {
  using typename Plain<float, kCount>::Vector;
  static constexpr int64_t kBytes = 1;
  static Vector load(const char* p) {
    int8_t values[kCount];
    std::memcpy(values, p, sizeof values);
    Vector result;
    for (int64_t i = 0; i < kCount; ++i)
      result.v[i] = static_cast<float>(values[i]);
    return result;
  }
};

template <int64_t kCount>
struct PlainLanes {
  using Float32 = PlainFull<float, kCount>;
  using Float64 = PlainFull<double, kCount>;
  using BFloat16 = PlainBFloat16<kCount>;
  using Float16 = PlainFloat16<kCount>;
  using Int8 = PlainInt8<kCount>;
};

}  // namespace
}  // namespace ramet
