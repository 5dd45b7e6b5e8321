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
#include "row_tries.h"
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
      return picks.take_unread(edges.size(), [&](int64_t j) { return row.begin + edges[j]; });
    const DrawKeys keys = node_keys(hop_keys_, task_.dst_nodes()[i]);
    if (edges.size() <= kSpan && take_from_span(keys, edges, row, picks)) return;
    for (int64_t wanted = some_more(k);; wanted *= 2) {
      find(keys, edges, wanted < edges.size() ? threshold_of(wanted, edges.size()) : ~uint64_t{0});
      if (std::ssize(found_) >= k) break;
    }
    keep_smallest(found_, k);
    picks.take_unread(k, [&](int64_t e) { return row.begin + found_[static_cast<size_t>(e)].x; });
  }

 private:
  // Some more than k, in expectation. Hardly ever are there fewer.
  static int64_t some_more(int64_t k) {
    return k + static_cast<int64_t>(2 * std::sqrt(static_cast<double>(k))) + 3;
  }

  // For up to kSpan edges: ranks in vector lanes what is within a bound. Does nothing where that is
  // too little or too much, or where words are equal.
  template <typename Edges, typename Picks>
  bool take_from_span(const DrawKeys& keys, const Edges& edges, const Row& row, Picks& picks) {
    const int64_t k = task_.fanout, count = edges.size();
    const int64_t size = kernel_.scan64(keys, bound_of(count), numbers(edges, 0, count), count,
                                        index_.data(), word_.data());
    if (size < k || size > kMaxRanked) return false;
    for (size_t e = 0; e < static_cast<size_t>(size); ++e)
      number_[e] = fraction_of(word_[e]);
    if (smallest_(number_.data(), size, k, index_.data()) != k) return false;
    picks.take_unread(k,
                      [&](int64_t e) { return row.begin + edges[index_[static_cast<size_t>(e)]]; });
    return true;
  }

  // Of `count` edges, kept since many rows have as many.
  const WordBound& bound_of(int64_t count) {
    WordBound& bound = bounds_[static_cast<size_t>(count)];
    const int64_t wanted = some_more(task_.fanout);
    if (bound.word == 0)
      bound = word_bound(hop_keys_.mixture,
                         wanted < count ? threshold_of(wanted, count) : ~uint64_t{0});
    return bound;
  }

  // The numbers of edges in their row; where it has all edges, less `first`.
  template <typename Edges>
  const int64_t* numbers(const Edges& edges, int64_t first, int64_t count) {
    if constexpr (kHasEvery) return kCounted.data();
    edges.copy(first, count, x_.data());
    return x_.data();
  }

  // All edges whose words are at most `bound`.
  template <typename Edges>
  void find(const DrawKeys& keys, const Edges& edges, uint64_t bound) {
    found_.clear();
    const WordBound of_row = word_bound(keys.mixture, bound);
    for (int64_t first = 0; first < edges.size(); first += kSpan) {
      const int64_t count = std::min(kSpan, edges.size() - first);
      const int64_t* const x = numbers(edges, first, count);
      const DrawKeys& span_keys = kHasEvery ? beginning_at(keys, first) : keys;
      const int64_t size = kernel_.scan64(span_keys, of_row, x, count, index_.data(), word_.data());
      for (size_t e = 0; e < static_cast<size_t>(size); ++e)
        found_.push_back({word_[e], edges[first + index_[e]]});
    }
  }

  static constexpr bool kHasEvery = std::is_same_v<RowEdges, EveryEdge>;
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
  std::vector<WordBound> bounds_ = std::vector<WordBound>(kSpan + 1);  // by number of edges
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

// Once as many rows were drawn from as there are; nullptr before.
template <typename Weight, typename Id>
const TriesOfRows<Weight>* row_tries_of(const RelationTask<Id>& task,
                                        const WeightedDraws& draws,
                                        const Array& table,
                                        int threads) {
  if (draws.row_tries == nullptr || task.fanout == 0) return nullptr;
  draws.row_tries->add_work(task.num_dst(), task.edges.indptr.rows() - 1,
                            [&] { return TriesOfRows<Weight>::make(table, task.edges, threads); });
  return draws.row_tries->template get<TriesOfRows<Weight>>();
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
                         const WeightedDraws& draws,
                         ScanScratch<Id>& scratch,
                         BufferPool& pool,
                         int threads) {
  const auto sample = [&]<typename Weight>(const Array& table) {
    const TriesOfRows<Weight>* const row_tries = row_tries_of<Weight>(task, draws, table, threads);
    return scan(task, scratch, pool, threads, [&]<typename Edges>(Edges edges) {
      return WeightedRule<Id, Weight, Edges>(task, draws, table, row_tries, std::move(edges));
    });
  };
  if (task.fanout == 0) return sample.template operator()<float>({});
  const Array& table = task.edges.tables.at(draws.method.table);
  return table.dtype == DType::kFloat32 ? sample.template operator()<float>(table)
                                        : sample.template operator()<double>(table);
}

template Relation sample_smallest_words(
    const RelationTask<int32_t>&, const DrawKeys&, ScanScratch<int32_t>&, BufferPool&, int);
template Relation sample_smallest_words(
    const RelationTask<int64_t>&, const DrawKeys&, ScanScratch<int64_t>&, BufferPool&, int);
template Relation sample_weighted(
    const RelationTask<int32_t>&, const WeightedDraws&, ScanScratch<int32_t>&, BufferPool&, int);
template Relation sample_weighted(
    const RelationTask<int64_t>&, const WeightedDraws&, ScanScratch<int64_t>&, BufferPool&, int);

}  // namespace ramet
