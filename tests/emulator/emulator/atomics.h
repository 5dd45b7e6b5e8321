// CUDA's atomic functions, for the types that CUDA has: int64_t is none of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <type_traits>

#include "emulator/block.h"

namespace emulator {

template <typename T, typename... Allowed>
concept OneOf = (std::same_as<T, Allowed> || ...);
template <typename T>
concept Exchangeable = OneOf<T, int, unsigned, unsigned long long>;
template <typename T>
concept Ordered = OneOf<T, int, unsigned, long long, unsigned long long>;

// Replaces the value by next(value); returns the one before.
template <typename T, typename Next>
T update(T* address, Next next) {
  maybe_switch();
  std::atomic_ref<T> cell(*address);
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, next(old), std::memory_order_relaxed)) {
  }
  return old;
}

}  // namespace emulator

template <typename T>
  requires emulator::OneOf<T, int, unsigned, unsigned long long, float, double>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return emulator::update(address, [value](T old) {
    if constexpr (std::same_as<T, int>)
      return int(unsigned(old) + unsigned(value));  // wraps
    else
      return old + value;
  });
}

template <emulator::Ordered T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return emulator::update(address, [value](T old) { return std::min(old, value); });
}

template <emulator::Ordered T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return emulator::update(address, [value](T old) { return std::max(old, value); });
}

template <emulator::Exchangeable T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return emulator::update(address, [value](T old) { return old | value; });
}

template <emulator::Exchangeable T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return emulator::update(address, [=](T old) { return old == expected ? value : old; });
}
