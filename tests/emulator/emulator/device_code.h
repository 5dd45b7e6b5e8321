// What device code uses beside C++: qualifiers, built-in variables, barriers, warp functions and
// intrinsics, with CUDA's names and meaning.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/block.h"
#include "emulator/vector_types.h"

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static thread_local  // a block runs on one thread

inline thread_local constinit uint3 threadIdx{};
inline thread_local constinit uint3 blockIdx{};
inline thread_local constinit dim3 blockDim{};
inline thread_local constinit dim3 gridDim{};
inline constexpr int warpSize = emulator::kWarpSize;

namespace emulator {

// What warp functions move.
template <typename T>
concept Word = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t);

template <Word T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <Word T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// The lanes of `mask` whose value `matches`.
template <typename Matches>
unsigned ballot(unsigned mask, const Lanes& values, Matches matches) {
  unsigned result = 0;
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if ((mask >> i & 1) && matches(values[i])) result |= 1u << i;
  }
  return result;
}

// The first lane of this lane's segment of `width` lanes.
inline unsigned segment(int width) {
  return lane() & ~(unsigned(width) - 1);
}

}  // namespace emulator

inline void __syncthreads() {
  emulator::sync_block();
}

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  emulator::exchange(mask, 0, "__syncwarp");
}

template <emulator::Word T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const auto lanes = emulator::exchange(mask, emulator::to_bits(value), "__shfl_sync");
  return emulator::from_bits<T>(
      lanes[emulator::segment(width) + (unsigned(source) & (unsigned(width) - 1))]);
}

template <emulator::Word T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const auto lanes = emulator::exchange(mask, emulator::to_bits(value), "__shfl_up_sync");
  const unsigned self = emulator::lane();
  return self < emulator::segment(width) + delta ? value
                                                 : emulator::from_bits<T>(lanes[self - delta]);
}

template <emulator::Word T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const auto lanes = emulator::exchange(mask, emulator::to_bits(value), "__shfl_down_sync");
  const unsigned source = emulator::lane() + delta;
  return source < emulator::segment(width) + unsigned(width) ? emulator::from_bits<T>(lanes[source])
                                                             : value;
}

template <emulator::Word T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  const auto lanes = emulator::exchange(mask, emulator::to_bits(value), "__shfl_xor_sync");
  const unsigned source = emulator::lane() ^ unsigned(bits);
  return source < emulator::segment(width) + unsigned(width) ? emulator::from_bits<T>(lanes[source])
                                                             : value;
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const auto lanes = emulator::exchange(mask, predicate != 0, "__ballot_sync");
  return emulator::ballot(mask, lanes, [](uint64_t set) { return set != 0; });
}

inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}

inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}

template <emulator::Word T>
unsigned __match_any_sync(unsigned mask, T value) {
  const uint64_t own = emulator::to_bits(value);
  const auto lanes = emulator::exchange(mask, own, "__match_any_sync");
  return emulator::ballot(mask, lanes, [own](uint64_t other) { return other == own; });
}

// Cache hints change no result.
template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T __ldcs(const T* address) {
  return *address;
}
// Reads where atomics write, past the cache that does not see them.
template <typename T>
T __ldcg(const T* address) {
  if constexpr (sizeof(T) <= sizeof(uint64_t))
    return std::atomic_ref(*const_cast<T*>(address)).load(std::memory_order_relaxed);
  else
    return *address;
}
template <typename T>
void __stcs(T* address, T value) {
  *address = value;
}
template <typename T>
void __stcg(T* address, T value) {
  *address = value;
}

[[noreturn]] inline void __trap() {
  emulator::fail("__trap");
}

inline int __popc(unsigned word) {
  return std::popcount(word);
}
inline int __popcll(unsigned long long word) {
  return std::popcount(word);
}
inline int __ffs(int word) {
  return word == 0 ? 0 : std::countr_zero(unsigned(word)) + 1;
}
inline int __ffsll(long long word) {
  using Bits = unsigned long long;
  return word == 0 ? 0 : std::countr_zero(Bits(word)) + 1;
}
inline int __clz(int word) {
  return std::countl_zero(unsigned(word));
}
inline int __clzll(long long word) {
  using Bits = unsigned long long;
  return std::countl_zero(Bits(word));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned(uint64_t{a} * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(Wide(a) * b >> 64);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t{high} << 32 | low) >> (shift & 31));
}

inline float __int_as_float(int bits) {
  return std::bit_cast<float>(bits);
}
inline int __float_as_int(float value) {
  return std::bit_cast<int>(value);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline double __longlong_as_double(long long bits) {
  return std::bit_cast<double>(bits);
}
inline long long __double_as_longlong(double value) {
  return std::bit_cast<long long>(value);
}

// CUDA declares these for all arithmetic types, without a namespace.
template <typename T>
  requires std::is_arithmetic_v<T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
  requires std::is_arithmetic_v<T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
