// Seconds of steady time, and of waits for a core.
#pragma once

#include <chrono>

#include "base/system/core_wait.h"

namespace ramet {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

inline double seconds_since(Clock::time_point start) {
  return seconds_between(start, Clock::now());
}

// Adds the seconds of its own life to `sum`.
class AddSeconds {
 public:
  explicit AddSeconds(double& sum) : sum_(sum) {}
  ~AddSeconds() { sum_ += seconds_since(start_); }
  AddSeconds(const AddSeconds&) = delete;
  AddSeconds& operator=(const AddSeconds&) = delete;

 private:
  double& sum_;
  const Clock::time_point start_ = Clock::now();
};

// Adds what the thread of `wait` waits for a core, during its own life, to `sum`.
class AddCoreWait {
 public:
  AddCoreWait(const CoreWait& wait, double& sum) : wait_(wait), sum_(sum) {}
  ~AddCoreWait() { sum_ += wait_.seconds() - start_; }
  AddCoreWait(const AddCoreWait&) = delete;
  AddCoreWait& operator=(const AddCoreWait&) = delete;

 private:
  const CoreWait& wait_;
  double& sum_;
  const double start_ = wait_.seconds();
};

}  // namespace ramet
