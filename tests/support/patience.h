// How long tests wait before they fail.
#pragma once

#include <chrono>
#include <thread>

namespace ramet::test {

// For what is sure to come: longer than the busiest machine takes.
inline constexpr std::chrono::minutes kPatience{10};

// Whether a condition comes true of which nobody tells.
template <typename Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace ramet::test
