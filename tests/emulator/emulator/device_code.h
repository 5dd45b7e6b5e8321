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
#define __launch_bounds__(...)
#define __shared__ static thread_local  // a block runs on one thread

inline thread_local constinit uint3 threadIdx{};
inline thread_local constinit uint3 blockIdx{};
inline thread_local constinit dim3 blockDim{};
inline thread_local constinit dim3 gridDim{};

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

// The first lane of this lane's segment of `width` lanes.
inline unsigned segment(int width) {
  return lane() & ~(unsigned(width) - 1);
}

template <Word T>
T shuffle(unsigned mask, T value, unsigned source, const char* operation) {
  return from_bits<T>(read_lane(mask, to_bits(value), source, operation));
}

}  // namespace emulator

inline void __syncthreads() {
  emulator::sync_block();
}

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  emulator::lanes_equal(mask, 0, 0, "__syncwarp");
}

template <emulator::Word T>
T __shfl_sync(unsigned mask, T value, int lane, int width = emulator::kWarpSize) {
  const unsigned source = emulator::segment(width) + (unsigned(lane) & (unsigned(width) - 1));
  return emulator::shuffle(mask, value, source, "__shfl_sync");
}

// A lane past the segment's end reads itself.
template <emulator::Word T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = emulator::kWarpSize) {
  const unsigned source = emulator::lane() + delta;
  const bool readable = source < emulator::segment(width) + unsigned(width);
  return emulator::shuffle(mask, value, readable ? source : emulator::lane(), "__shfl_down_sync");
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return emulator::lanes_equal(mask, predicate != 0, 1, "__ballot_sync");
}

template <emulator::Word T>
unsigned __match_any_sync(unsigned mask, T value) {
  const uint64_t bits = emulator::to_bits(value);
  return emulator::lanes_equal(mask, bits, bits, "__match_any_sync");
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

inline int __popc(unsigned word) {
  return std::popcount(word);
}
inline int __ffs(int word) {
  return word == 0 ? 0 : std::countr_zero(unsigned(word)) + 1;
}
// Byte i of the result is that of 8 bytes, `low` first, which nibble i of `selector` numbers.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const uint64_t bytes = uint64_t{high} << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= unsigned(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return result;
}

inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline long long __double_as_longlong(double value) {
  return std::bit_cast<long long>(value);
}
