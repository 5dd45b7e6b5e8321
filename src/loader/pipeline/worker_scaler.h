// WorkerScaler: how many threads should make batches. The loop uses a batch every `used` seconds
// and a thread makes one in `made` seconds, so made / used threads keep up with it. More would only
// take cores from what the loop itself computes: a thread of a parallel layer that loses its core
// for a while holds up all others at the layer's end. Both times are without waits for a core: more
// threads do not bring more cores.
//
// Each time is the median of the last few, since a loop that pauses to validate, or one very large
// batch, says nothing about the rest. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace ramet {

class WorkerScaler {
 public:
  // At most `limit` threads; `first` until both times are known.
  WorkerScaler(int limit, int first) : limit_(limit), first_(std::clamp(first, 1, limit)) {}

  void made(double seconds) { made_.add(seconds); }
  void used(double seconds) { used_.add(seconds); }

  [[nodiscard]] int threads() const {
    if (made_.empty() || used_.empty()) return first_;
    const double busy = made_.median() / kBusy;
    if (busy >= used_.median() * limit_) return limit_;
    return std::max(1, static_cast<int>(std::ceil(busy / used_.median())));
  }

 private:
  // A thread that is busy for a larger part of the time gets help: times vary.
  static constexpr double kBusy = 0.8;

  class Recent {
   public:
    void add(double value) { values_[count_++ % values_.size()] = value; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] double median() const {
      auto sorted = values_;
      const size_t n = std::min(count_, sorted.size());
      std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
      return sorted[n / 2];
    }

   private:
    std::array<double, 5> values_{};
    size_t count_ = 0;
  };

  int limit_, first_;
  Recent made_, used_;
};

}  // namespace ramet
