#include "temporal_sampler.h"

#include <algorithm>
#include <iterator>
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
  static constexpr bool reads_sources() { return false; }  // but for times

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
  static constexpr bool reads_sources() { return false; }  // but for times

  LatestRule(const RelationTask<Id>& task, EdgesInTime<Id> edges)
      : task_(task), edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    find_latest(stored, row, task_.allowed[i]);
    picks.take(task_, stored, std::ssize(latest_),
               [&](int64_t e) { return row.begin + latest_[static_cast<size_t>(e)]; });
  }

 private:
  template <typename Index>
  void find_latest(std::span<const Index> stored, const Row& row, const TimeSpan& allowed) {
    const int64_t k =
        task_.fanout == kAllNeighbors ? row.degree : std::min(row.degree, task_.fanout);
    const TimeSpan guessed = edges_.latest(row, allowed, k);
    auto edges = edges_.in(stored, row, guessed);
    if (edges.size() < k && guessed != allowed) edges = edges_.in(stored, row, allowed);
    latest_.resize(static_cast<size_t>(edges.size()));
    edges.copy(0, edges.size(), latest_.data());
    if (edges.size() > k) keep_latest(stored, row, k);
  }

  // All of a later rank than the k-th, and of those with its rank the latest.
  template <typename Index>
  void keep_latest(std::span<const Index> stored, const Row& row, int64_t k) {
    const auto rank_of = [&](int64_t x) { return edges_.rank(stored, row.begin + x); };
    ranks_.resize(latest_.size());
    std::transform(latest_.begin(), latest_.end(), ranks_.begin(), rank_of);
    std::nth_element(ranks_.begin(), ranks_.end() - k, ranks_.end());
    const int64_t kth = *(ranks_.end() - k);
    const auto is_later = [kth](int64_t rank) { return rank > kth; };
    const int64_t of_kth = k - std::count_if(ranks_.end() - k, ranks_.end(), is_later);
    tied_.clear();
    std::erase_if(latest_, [&](int64_t x) {
      const int64_t rank = rank_of(x);
      if (rank == kth) tied_.emplace_back(0, x);
      return rank <= kth;
    });
    if (std::ssize(tied_) > of_kth) {
      for (auto& [time, x] : tied_)
        time = edges_.time(stored, row.begin + x);
      std::nth_element(tied_.begin(), tied_.end() - of_kth, tied_.end());
    }
    std::transform(tied_.end() - of_kth, tied_.end(), std::back_inserter(latest_),
                   [](const auto& edge) { return edge.second; });
    std::sort(latest_.begin(), latest_.end());
  }

  const RelationTask<Id>& task_;
  EdgesInTime<Id> edges_;
  std::vector<int64_t> latest_;  // numbers in the row, ascending
  std::vector<int64_t> ranks_;
  std::vector<std::pair<int64_t, int64_t>> tied_;  // time, number in the row
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
