// What a request and a byte cost, learned from a reader's own requests.
//
// Costs that were measured while others used the disk would be wrong for as long as the reader
// lives. So now and then it tries some requests of one row each. Their rate and that of the usual
// ones after them, while the workers have all they can do, tell what a request and a byte cost.
// Where the usual ones are hardly larger, it tries some through wide gaps, too.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plan_requests.h"

namespace ramet {

// Of a reader, in one process. Any thread.
struct CurrentCosts {
  std::atomic<double> request_seconds{0}, byte_seconds{0};
};

class CostLearner {
 public:
  explicit CostLearner(CurrentCosts& costs) : costs_(costs) {}

  // ---- who plans: any thread
  // What is to be tried next, and what a plan left of it.
  [[nodiscard]] ReadTrial trial() const { return {alone_left_.load(), wide_left_.load()}; }
  void set_trial(const ReadTrial& left) {
    alone_left_.store(left.alone);
    wide_left_.store(left.wide);
  }

  // ---- workers
  // Any thread.
  void finished(const ReadRequest& request);
  // At `seconds` of a clock the workers have all that they can do, or not. One thread at a time.
  void observe(bool is_full, double seconds);

 private:
  struct Counts {
    int64_t requests = 0, bytes = 0;
  };
  using ByKind = std::array<Counts, 3>;

  // Of one kind, in a trial and after it.
  struct Windows {
    int windows = 0;
    double requests = 0, bytes = 0;  // a second, in sum
    void add(const Counts& counts, double seconds);
  };

  // Means over trials, of which the last ones weigh more.
  struct Rates {
    int trials = 0;
    double requests = 0, bytes = 0;  // a second
    void add(const Windows& of_trial);
    [[nodiscard]] double request_seconds() const { return 1 / requests; }
    [[nodiscard]] double request_bytes() const { return bytes / requests; }
  };

  [[nodiscard]] ByKind counts() const;
  void note(const ByKind& window, double seconds);
  void learn();

  static constexpr int64_t kTrialRequests = 512;  // or as many as the disk serves in some windows

  CurrentCosts& costs_;
  std::atomic<int64_t> alone_left_{kTrialRequests}, wide_left_{kTrialRequests};
  struct Finished {
    std::atomic<int64_t> requests{0}, bytes{0};
  };
  std::array<Finished, 3> finished_;  // by kind
  // The window since `begin_`, in which the workers always had all that they can do. The first one
  // does not count: it has the latency of the first requests, which later ones share.
  enum class State { kIdle, kFilling, kSteady };
  State state_ = State::kIdle;
  double begin_ = 0;
  ByKind before_;
  double seconds_ = 0;            // in windows since the last trial was asked for
  std::array<Windows, 3> pairs_;  // by kind, of a trial
  std::array<Rates, 3> rates_;
  bool is_wide_needed_ = true;
};

}  // namespace ramet
