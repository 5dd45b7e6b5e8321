// Seconds of steady time.
#pragma once

#include <chrono>

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

}  // namespace ramet
