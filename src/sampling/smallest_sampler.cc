#include "smallest_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/dependent_lanes.h"
#include "base/lanes_scalar.h"
#include "edges_in_time.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sampler.h"
#include "smallest_edges.h"
#include "weighted_rule.h"

namespace ramet {
namespace {

// Where a mixed word is at most `bound`, one of the two that it is made of is at most this: since
// words are upper tails, cos n0 + sin n1 reaches z > 0 only where n0 or n1 reaches z / (cos + sin).
uint64_t reach_of(const Mixture& mixture, uint64_t bound) {
  constexpr uint64_t kSlack = uint64_t{1} << 14;  // more than words and normals are off by
  const double z = normal_of_word<Scalar>(bound + kSlack) / (mixture.cos + mixture.sin);
  return word_of_normal<Scalar>(z - 1e-6) + kSlack;
}

// The words of a row's edges, some thousand at a time, in vector lanes. Of one thread.
class RowWords {
 public:
  // Calls body(x, word) with the numbers x of `edges` in order, at least those whose words are at
  // most `bound`.
  template <typename Edges, typename Body>
  void for_each(const DrawKeys& keys, const Edges& edges, uint64_t bound, Body&& body) {
    for (int64_t first = 0; first < edges.size(); first += kSpan) {
      const int64_t count = std::min(kSpan, edges.size() - first);
      edges.copy(first, count, position_.data());
      const int64_t kept = bound < kWorthScan ? keep(keys, edges, first, count, bound) : count;
      kernel_.words(keys, position_.data(), kept, word_.data());
      for (int64_t e = 0; e < kept; ++e)
        body(position_[static_cast<size_t>(e)], word_[static_cast<size_t>(e)]);
    }
  }

 private:
  static constexpr int64_t kSpan = int64_t{1} << 12;
  static constexpr uint64_t kWorthScan = uint64_t{1} << 61;  // above, too many would be kept
  using Offsets = std::array<uint32_t, kSpan + kLaborPadding>;

  // Mixing takes longer than drawing, so it is spared where neither word is small enough.
  template <typename Edges>
  int64_t keep(
      const DrawKeys& keys, const Edges& edges, int64_t first, int64_t count, uint64_t bound) {
    const bool plain = keys.mixture.plain;
    const uint64_t reach = plain ? bound : reach_of(keys.mixture, bound);
    const auto scan = [&](uint64_t key, Offsets& found) {
      return found.begin() + kernel_({key}, reach, position_.data(), count, found.data());
    };
    const auto now_end = scan(keys.now, now_);
    const auto next_end = plain ? next_.begin() : scan(keys.next, next_);
    const auto end =
        std::set_union(now_.begin(), now_end, next_.begin(), next_end, position_.begin());
    std::for_each(position_.begin(), end, [&](int64_t& x) { x = edges[first + x]; });
    return end - position_.begin();
  }

  LaborKernel kernel_ = best_kernels().labor;
  alignas(64) std::array<uint64_t, kSpan + kLaborPadding> word_ = {};
  std::array<int64_t, kSpan + kLaborPadding> position_ = {};
  Offsets now_ = {}, next_ = {};
};

// Of one thread, as all rules. `edges`: EveryEdge, RemainingEdges or EdgesInTime.
template <typename Id, typename RowEdges>
class SmallestWordsRule {
 public:
  SmallestWordsRule(const RelationTask<Id>& task, const DrawKeys& hop_keys, RowEdges edges)
      : task_(task), hop_keys_(hop_keys), edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const auto edges = edges_.of(stored, row, i);
    if (task_.fanout == kAllNeighbors || task_.fanout >= edges.size())
      return picks.take(task_, stored, edges.size(),
                        [&](int64_t j) { return row.begin + edges[j]; });
    const DrawKeys keys = node_keys(hop_keys_, task_.dst_nodes()[i]);
    // A few more than wanted, in expectation. Hardly ever are there fewer.
    const auto spread = static_cast<int64_t>(3 * std::sqrt(static_cast<double>(task_.fanout)));
    for (int64_t wanted = task_.fanout + spread + 4;; wanted *= 2) {
      find(keys, edges, wanted < edges.size() ? threshold_of(wanted, edges.size()) : ~uint64_t{0});
      if (std::ssize(found_) >= task_.fanout) break;
    }
    keep_smallest(found_, task_.fanout);
    picks.take(task_, stored, task_.fanout,
               [&](int64_t e) { return row.begin + found_[static_cast<size_t>(e)].x; });
  }

 private:
  // All edges whose words are at most `bound`.
  template <typename Edges>
  void find(const DrawKeys& keys, const Edges& edges, uint64_t bound) {
    found_.clear();
    words_.for_each(keys, edges, bound, [&](int64_t x, uint64_t word) {
      if (word <= bound) found_.push_back({word, x});
    });
  }

  const RelationTask<Id>& task_;
  const DrawKeys& hop_keys_;
  RowEdges edges_;
  RowWords words_;
  std::vector<NumberedEdge<uint64_t>> found_;
};

// EdgeScan::sample(): make_rule(edges) gives a rule that draws from EveryEdge, or from
// RemainingEdges where some are excluded, or from EdgesInTime where the task has times.
template <typename Id, typename MakeRule>
Relation scan(const RelationTask<Id>& task,
              ScanScratch<Id>& scratch,
              BufferPool& pool,
              int threads,
              const MakeRule& make_rule) {
  if (task.times != nullptr) return scan_edges_in_time(task, scratch, pool, threads, make_rule);
  const auto scan_all = [&](const auto& edges) {
    return scan_edges(task, scratch, pool, threads, false, [&] { return make_rule(edges); });
  };
  return task.excluded == nullptr ? scan_all(EveryEdge()) : scan_all(RemainingEdges<Id>(task));
}

}  // namespace

template <typename Id>
Relation sample_smallest_words(const RelationTask<Id>& task,
                               const DrawKeys& hop_keys,
                               ScanScratch<Id>& scratch,
                               BufferPool& pool,
                               int threads) {
  return scan(task, scratch, pool, threads, [&]<typename Edges>(Edges edges) {
    return SmallestWordsRule<Id, Edges>(task, hop_keys, std::move(edges));
  });
}

template <typename Id>
Relation sample_weighted(const RelationTask<Id>& task,
                         const DrawKeys& hop_keys,
                         const Weighted& method,
                         ScanScratch<Id>& scratch,
                         BufferPool& pool,
                         int threads) {
  const auto sample = [&]<typename Weight>(const Array& table) {
    return scan(task, scratch, pool, threads, [&]<typename Edges>(Edges edges) {
      return WeightedRule<Id, Weight, Edges>(task, hop_keys, method, table, std::move(edges));
    });
  };
  if (task.fanout == 0) return sample.template operator()<float>({});
  const Array& table = task.edges.tables.at(method.table);
  return table.dtype == DType::kFloat32 ? sample.template operator()<float>(table)
                                        : sample.template operator()<double>(table);
}

template Relation sample_smallest_words(
    const RelationTask<int32_t>&, const DrawKeys&, ScanScratch<int32_t>&, BufferPool&, int);
template Relation sample_smallest_words(
    const RelationTask<int64_t>&, const DrawKeys&, ScanScratch<int64_t>&, BufferPool&, int);
template Relation sample_weighted(const RelationTask<int32_t>&,
                                  const DrawKeys&,
                                  const Weighted&,
                                  ScanScratch<int32_t>&,
                                  BufferPool&,
                                  int);
template Relation sample_weighted(const RelationTask<int64_t>&,
                                  const DrawKeys&,
                                  const Weighted&,
                                  ScanScratch<int64_t>&,
                                  BufferPool&,
                                  int);

}  // namespace ramet
