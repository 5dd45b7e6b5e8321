// How often the process has asked the device for something: for tests of what an algorithm costs.
#pragma once

#include <atomic>
#include <cstdint>

namespace emulator {

struct Counts {
  std::atomic<int64_t> kernels = 0;  // launched
  std::atomic<int64_t> sums = 0;     // running sums by CUB, of two kernels each
  std::atomic<int64_t> waits = 0;    // of the host for a stream
};

inline Counts& counts() {
  static Counts instance;
  return instance;
}

}  // namespace emulator
