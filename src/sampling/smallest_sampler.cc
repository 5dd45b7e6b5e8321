#include "smallest_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "edges_in_time.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sampler.h"
#include "smallest_edges.h"
#include "weighted_rule.h"
#include "weights.h"

namespace ramet {
namespace {

constexpr int64_t kSpan = 1024;  // edges that are looked at together

constexpr std::array<int64_t, kSpan> counted() {
  std::array<int64_t, kSpan> numbers = {};
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}
constexpr std::array<int64_t, kSpan> kCounted = counted();

// Of one thread, as all rules. `edges`: EveryEdge, RemainingEdges or EdgesInTime.
template <typename Id, typename RowEdges>
class SmallestWordsRule {
 public:
  static constexpr bool reads_sources() { return false; }

  SmallestWordsRule(const RelationTask<Id>& task, const DrawKeys& hop_keys, RowEdges edges)
      : task_(task), hop_keys_(hop_keys), edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const int64_t k = task_.fanout;
    const auto edges = edges_.of(stored, row, i);
    if (k == kAllNeighbors || k >= edges.size())
      return picks.take_unread(stored, edges.size(),
                               [&](int64_t j) { return row.begin + edges[j]; });
    const DrawKeys keys = node_keys(hop_keys_, task_.dst_nodes()[i]);
    // A few more than wanted, in expectation. Hardly ever are there fewer.
    const auto spread = static_cast<int64_t>(2 * std::sqrt(static_cast<double>(k)));
    for (int64_t wanted = k + spread + 3;; wanted *= 2) {
      find(keys, edges, wanted < edges.size() ? threshold_of(wanted, edges.size()) : ~uint64_t{0});
      if (std::ssize(found_) >= k) break;
    }
    if (!rank(k, row, stored, picks)) {
      keep_smallest(found_, k);
      picks.take_unread(stored, k,
                        [&](int64_t e) { return row.begin + found_[static_cast<size_t>(e)].x; });
    }
  }

 private:
  // All edges whose words are at most `bound`.
  template <typename Edges>
  void find(const DrawKeys& keys, const Edges& edges, uint64_t bound) {
    found_.clear();
    for (int64_t first = 0; first < edges.size(); first += kSpan) {
      const int64_t count = std::min(kSpan, edges.size() - first);
      if constexpr (std::is_same_v<Edges, EveryEdge::Numbers>) {
        append(beginning_at(keys, first), bound, kCounted.data(), count, first);
      } else {
        edges.copy(first, count, x_.data());
        append(keys, bound, x_.data(), count, 0);
      }
    }
  }

  // Edges first + x[0] to first + x[count - 1], for which the keys absorb the x.
  void append(
      const DrawKeys& keys, uint64_t bound, const int64_t* x, int64_t count, int64_t first) {
    const int64_t size = kernel_(keys, bound, x, count, index_.data(), word_.data());
    const size_t before = found_.size();
    found_.resize(before + static_cast<size_t>(size));
    for (size_t e = 0; e < static_cast<size_t>(size); ++e)
      found_[before + e] = {word_[e], first + x[index_[e]]};
  }

  // Takes the k smallest in vector lanes. Not where there are too many, or equal ones.
  template <typename Index, typename Picks>
  bool rank(int64_t k, const Row& row, std::span<const Index> stored, Picks& picks) {
    const int64_t size = std::ssize(found_);
    if (size > kMaxRanked) return false;
    for (size_t e = 0; e < found_.size(); ++e) {
      number_[e] = fraction_of(found_[e].number);
      index_[e] = static_cast<uint32_t>(e);
    }
    if (smallest_(number_.data(), size, k, index_.data()) != k) return false;
    picks.take_unread(
        stored, k, [&](int64_t e) { return row.begin + found_[index_[static_cast<size_t>(e)]].x; });
    return true;
  }

  const RelationTask<Id>& task_;
  const DrawKeys& hop_keys_;
  RowEdges edges_;
  LaborKernel kernel_ = best_kernels().labor;
  decltype(WeightedKernel::smallest) smallest_ = best_kernels().weighted.smallest;
  alignas(64) std::array<uint32_t, kSpan + kLaborPadding> index_ = {};
  alignas(64) std::array<double, kMaxRanked + kWeightedPadding> number_ = {};
  std::array<uint64_t, kSpan + kLaborPadding> word_ = {};
  std::array<int64_t, kSpan> x_ = {};
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
