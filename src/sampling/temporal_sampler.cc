#include "temporal_sampler.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "edges_in_time.h"
#include "kernels/cpu/pick.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

// Of one thread.
template <typename Id>
class EvenlyRule {
 public:
  EvenlyRule(const RelationTask<Id>& task,
             const DrawKeys& keys,
             bool replace,
             EdgesInTime<Id> edges)
      : task_(task),
        keys_(keys),
        rule_{task.fanout, replace},
        picker_(rule_),
        edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const auto edges = edges_.of(stored, row, i);
    picked_.resize(static_cast<size_t>(num_picks(rule_, edges.size())));
    picker_.pick(node_keys(keys_, task_.dst_nodes()[i]), edges.size(), picked_.data());
    picks.take(task_, stored, std::ssize(picked_),
               [&](int64_t e) { return row.begin + edges[picked_[static_cast<size_t>(e)]]; });
  }

 private:
  const RelationTask<Id>& task_;
  const DrawKeys& keys_;
  PickRule rule_;
  Picker picker_;
  EdgesInTime<Id> edges_;
  std::vector<int64_t> picked_;
};

// The k latest; of one time, those that stand later in the row. Of one thread.
template <typename Id>
class LatestRule {
 public:
  LatestRule(const RelationTask<Id>& task, EdgesInTime<Id> edges)
      : task_(task), edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    find_latest(stored, row, i);
    picks.take(task_, stored, std::ssize(latest_),
               [&](int64_t e) { return row.begin + latest_[static_cast<size_t>(e)].second; });
  }

 private:
  [[nodiscard]] int64_t most(int64_t count) const {
    return task_.fanout == kAllNeighbors ? count : std::min(count, task_.fanout);
  }

  // In ascending order of their numbers. Once k were found, only later ones are looked at.
  template <typename Index>
  void find_latest(std::span<const Index> stored, const Row& row, size_t i) {
    constexpr int64_t kSpare = 16;  // so that the earliest are dropped many at a time
    const int64_t k = most(row.degree);
    latest_.clear();
    edges_.for_each(stored, row, i, [&](int64_t x, int64_t time, TimeSpan& allowed) {
      latest_.emplace_back(time, x);
      if (std::ssize(latest_) < 2 * k + kSpare) return;
      keep_latest(k);
      allowed.first = latest_.front().first;
    });
    keep_latest(k);
    std::sort(latest_.begin(), latest_.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
  }

  // The earliest of them first.
  void keep_latest(int64_t k) {
    if (std::ssize(latest_) <= k) return;
    std::nth_element(latest_.begin(), latest_.end() - k, latest_.end());
    latest_.erase(latest_.begin(), latest_.end() - k);
  }

  const RelationTask<Id>& task_;
  EdgesInTime<Id> edges_;
  std::vector<std::pair<int64_t, int64_t>> latest_;  // time, number in the row
};

}  // namespace

template <typename Id>
Relation sample_in_time(const RelationTask<Id>& task,
                        const DrawKeys& keys,
                        bool replace,
                        ScanScratch<Id>& scratch,
                        BufferPool& pool,
                        int threads) {
  if (replace && task.num_dst() > 0 && task.fanout > kMaxPicks / task.num_dst())
    throw_too_many_picks(task.edges, task.fanout, task.num_dst(), kMaxPicks);
  if (task.times->rule.strategy == Strategy::kLast) {
    return scan_edges_in_time(task, scratch, pool, threads, [&](EdgesInTime<Id> edges) {
      return LatestRule<Id>(task, std::move(edges));
    });
  }
  return scan_edges_in_time(task, scratch, pool, threads, [&](EdgesInTime<Id> edges) {
    return EvenlyRule<Id>(task, keys, replace, std::move(edges));
  });
}

template Relation sample_in_time(
    const RelationTask<int32_t>&, const DrawKeys&, bool, ScanScratch<int32_t>&, BufferPool&, int);
template Relation sample_in_time(
    const RelationTask<int64_t>&, const DrawKeys&, bool, ScanScratch<int64_t>&, BufferPool&, int);

}  // namespace ramet
