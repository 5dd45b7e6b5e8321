#include "learned_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ramet {
namespace {

constexpr double kLeastSeconds = 2e-3;  // of a window, and so many requests
constexpr int64_t kLeastRequests = 32;
constexpr double kTrialEvery = 0.5;  // seconds
constexpr double kNew = 0.15;        // the weight of the last window in a mean

size_t index_of(RequestKind kind) {
  return static_cast<size_t>(kind);
}

}  // namespace

void CostLearner::Rates::add(double new_requests, double new_bytes) {
  const double weight = requests == 0 ? 1 : kNew;
  requests += weight * (new_requests - requests);
  bytes += weight * (new_bytes - bytes);
}

void CostLearner::finished(const ReadRequest& request) {
  Finished& of_kind = finished_[index_of(request.kind)];
  of_kind.requests.fetch_add(1, std::memory_order_relaxed);
  of_kind.bytes.fetch_add(request.size, std::memory_order_relaxed);
}

CostLearner::ByKind CostLearner::counts() const {
  ByKind counts;
  for (size_t kind = 0; kind < counts.size(); ++kind)
    counts[kind] = {finished_[kind].requests.load(), finished_[kind].bytes.load()};
  return counts;
}

void CostLearner::observe(bool is_full, double seconds) {
  const bool is_window = std::exchange(is_full_, is_full) && is_full;
  if (is_window && seconds - begin_ < kLeastSeconds) return;
  const ByKind now = counts();
  if (is_window) {
    ByKind window;
    int64_t requests = 0;
    for (size_t kind = 0; kind < now.size(); ++kind) {
      window[kind] = {now[kind].requests - before_[kind].requests,
                      now[kind].bytes - before_[kind].bytes};
      requests += window[kind].requests;
    }
    if (requests < kLeastRequests) return;
    note(window, seconds - begin_);
  }
  begin_ = seconds;
  before_ = now;
}

// Of a window that is nearly all of one kind.
void CostLearner::note(const ByKind& window, double seconds) {
  Counts all;
  for (const Counts& of_kind : window) {
    all.requests += of_kind.requests;
    all.bytes += of_kind.bytes;
  }
  const auto is_of = [&](RequestKind kind) {
    return 10 * window[index_of(kind)].requests >= 9 * all.requests;
  };
  const bool is_alone = is_of(RequestKind::kAlone);
  if (is_alone || is_of(RequestKind::kWide)) {
    (is_alone ? alone_ : wide_)
        .add(static_cast<double>(all.requests) / seconds, static_cast<double>(all.bytes) / seconds);
    is_fresh_ = true;
  } else if (is_fresh_ && is_of(RequestKind::kUsual)) {  // the trial is over
    learn();
    is_fresh_ = false;
  }
  seconds_ += seconds;
  if (seconds_ < kTrialEvery) return;
  seconds_ = 0;
  set_trial({kTrialRequests, kTrialRequests});
}

// The line through both sizes of requests. Where reading through gaps gave fewer rows than reading
// each alone, the gaps that it leads to are narrower than those that were tried. Doubts end at wide
// gaps that were not tried, and at bytes that cost next to nothing.
void CostLearner::learn() {
  if (alone_.requests == 0 || wide_.requests == 0) return;
  const double more_bytes = wide_.request_bytes() - alone_.request_bytes();
  if (more_bytes < 0.1 * alone_.request_bytes()) return;  // rows are far apart: none was merged
  const double most = wide_.request_seconds();
  const double byte_seconds =
      std::max((most - alone_.request_seconds()) / more_bytes, most / wide_.request_bytes() / 4);
  const double request_seconds =
      std::max(alone_.request_seconds() - byte_seconds * alone_.request_bytes(),
               alone_.request_seconds() / 100);
  const double gap = costs_.request_seconds / costs_.byte_seconds;
  const double learned = std::clamp(request_seconds / byte_seconds, gap / 16, wide_gap(gap));
  costs_.request_seconds = request_seconds;
  costs_.byte_seconds = request_seconds / std::sqrt(gap * learned);  // half of the way
}

}  // namespace ramet
