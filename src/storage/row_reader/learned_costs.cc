#include "learned_costs.h"

#include <algorithm>
#include <cmath>

namespace ramet {
namespace {

constexpr double kLeastSeconds = 2e-3;  // of a window, and so many requests
constexpr int64_t kLeastRequests = 32;
constexpr double kTrialEvery = 0.25;  // seconds
constexpr double kNew = 0.1;          // the least weight of the last trial in a mean

size_t index_of(RequestKind kind) {
  return static_cast<size_t>(kind);
}

}  // namespace

void CostLearner::Windows::add(const Counts& counts, double seconds) {
  ++windows;
  requests += static_cast<double>(counts.requests) / seconds;
  bytes += static_cast<double>(counts.bytes) / seconds;
}

void CostLearner::Rates::add(const Windows& of_trial) {
  if (of_trial.windows == 0) return;
  const double weight = std::max(kNew, 1.0 / ++trials);
  requests += weight * (of_trial.requests / of_trial.windows - requests);
  bytes += weight * (of_trial.bytes / of_trial.windows - bytes);
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
  if (!is_full) {
    state_ = State::kIdle;
    return;
  }
  if (state_ != State::kIdle && seconds - begin_ < kLeastSeconds) return;
  const ByKind now = counts();
  if (state_ != State::kIdle) {
    ByKind window;
    int64_t requests = 0;
    for (size_t kind = 0; kind < now.size(); ++kind) {
      window[kind] = {now[kind].requests - before_[kind].requests,
                      now[kind].bytes - before_[kind].bytes};
      requests += window[kind].requests;
    }
    if (requests < kLeastRequests) return;
    if (state_ == State::kSteady) note(window, seconds - begin_);
  }
  state_ = state_ == State::kIdle ? State::kFilling : State::kSteady;
  begin_ = seconds;
  before_ = now;
}

// A window counts if it is nearly all of one kind. After a trial, so many usual ones count as there
// were of single rows: what slows the disk or the workers for a while slows both.
void CostLearner::note(const ByKind& window, double seconds) {
  Counts all;
  for (const Counts& of_kind : window) {
    all.requests += of_kind.requests;
    all.bytes += of_kind.bytes;
  }
  const Windows& alone = pairs_[index_of(RequestKind::kAlone)];
  const Windows& usual = pairs_[index_of(RequestKind::kUsual)];
  for (size_t kind = 0; kind < window.size(); ++kind) {
    const bool is_wanted = &pairs_[kind] != &usual || usual.windows < alone.windows;
    if (is_wanted && 10 * window[kind].requests >= 9 * all.requests) pairs_[kind].add(all, seconds);
  }
  if (usual.windows > 0 && usual.windows == alone.windows) {
    learn();
    pairs_ = {};
  }
  seconds_ += seconds;
  if (seconds_ < kTrialEvery) return;
  seconds_ = 0;
  const auto of_windows =
      static_cast<int64_t>(4 * kLeastSeconds / seconds * static_cast<double>(all.requests));
  set_trial({std::max(kTrialRequests, of_windows), is_wide_needed_ ? kTrialRequests : 0});
}

// The line through two sizes of requests: of one row, and as usual. Its costs are those near the
// usual size, so reading through gaps that gives fewer rows leads to narrower ones. Where the usual
// ones are hardly larger, it goes through the wide ones. Doubts end at wide gaps that were not
// tried, and at bytes that cost next to nothing.
void CostLearner::learn() {
  for (size_t kind = 0; kind < rates_.size(); ++kind)
    rates_[kind].add(pairs_[kind]);
  const Rates& alone = rates_[index_of(RequestKind::kAlone)];
  const Rates& usual = rates_[index_of(RequestKind::kUsual)];
  Rates& wide = rates_[index_of(RequestKind::kWide)];
  const double gap = costs_.request_seconds / costs_.byte_seconds;
  const auto has_more = [&](const Rates& rates, double bytes) {
    return rates.requests > 0 && rates.request_bytes() - alone.request_bytes() >= bytes;
  };
  is_wide_needed_ = !has_more(usual, wide_gap(gap) / 8);
  if (!is_wide_needed_) wide = {};
  const Rates& merged = is_wide_needed_ ? wide : usual;
  if (!has_more(merged, 0.1 * alone.request_bytes())) return;  // rows are far apart

  const double most = merged.request_seconds();
  const double byte_seconds =
      std::max((most - alone.request_seconds()) / (merged.request_bytes() - alone.request_bytes()),
               most / merged.request_bytes() / 4);
  const double request_seconds =
      std::max(alone.request_seconds() - byte_seconds * alone.request_bytes(),
               alone.request_seconds() / 100);
  const double learned = std::clamp(request_seconds / byte_seconds, gap / 4, wide_gap(gap));
  costs_.request_seconds = request_seconds;
  costs_.byte_seconds = request_seconds / std::sqrt(gap * learned);  // half of the way
}

}  // namespace ramet
