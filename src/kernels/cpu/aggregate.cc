#include "aggregate.h"

#include <bit>
#include <cstring>

#include "aggregate_lanes.h"
#include "base/half.h"
#include "base/narrow.h"
#include "ramet/isa.h"

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
    return map(a, b, [](T x, T y) { return x != x ? x : x > y ? x : y; });
  }
  static Vector min(const Vector& a, const Vector& b) {
    return map(a, b, [](T x, T y) { return x != x ? x : x < y ? x : y; });
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

float from_bfloat16(uint16_t bits) {
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
AggregateKernels plain_kernels(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return aggregate_kernels_of<PlainFull<float, kCount>>();
    case RowType::kFloat64:
      return aggregate_kernels_of<PlainFull<double, kCount>>();
    case RowType::kBFloat16:
      return aggregate_kernels_of<PlainHalves<from_bfloat16, DType::kBFloat16, kCount>>();
    case RowType::kFloat16:
      return aggregate_kernels_of<PlainHalves<from_half, DType::kFloat16, kCount>>();
  }
  return {};
}

}  // namespace

AggregateKernels aggregate_single(RowType type) {
  return plain_kernels<1>(type);
}

AggregateKernels aggregate_portable(RowType type) {
  return plain_kernels<4>(type);
}

AggregateKernel aggregate_kernel(RowType type, int64_t head_width) {
  AggregateKernels best = aggregate_single(type);
  const auto offer = [&](const AggregateKernels& kernels) {
    if (kernels.aggregate != nullptr && kernels.lanes <= head_width) best = kernels;
  };
  offer(aggregate_portable(type));
  if (isa() >= Isa::kAvx2) offer(aggregate_avx2(type));
  if (isa() >= Isa::kAvx512) offer(aggregate_avx512(type));
  return best.aggregate;
}

}  // namespace ramet
