#include "smallest_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/fanout.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sampler.h"
#include "row_edges.h"
#include "row_tries.h"
#include "smallest_edges.h"
#include "weighted_rule.h"
#include "weights.h"
#include "word_bounds.h"

namespace ramet {
namespace {

constexpr int64_t kSpan = 1024;  // edges that are looked at together

constexpr std::array<int64_t, kSpan> counted() {
  std::array<int64_t, kSpan> numbers = {};
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}
constexpr std::array<int64_t, kSpan> kCounted = counted();

// Of one thread, as all rules.
class SmallestWordsRule final : public EdgeRule {
 public:
  SmallestWordsRule(const RelationRows& task, const DrawKeys& hop_keys)
      : task_(task), hop_keys_(hop_keys), edges_(task), bounds_(hop_keys.mixture) {}

  void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) override {
    take_each(task_, piece, *this, picks, sizes);
  }
  [[nodiscard]] bool reads_sources() const { return edges_.reads_sources(); }
  void request(const Row& row, size_t /*i*/) const { edges_.request(row); }
  void touch(const Row& row, size_t /*i*/) const { edges_.touch(row); }

  void pick(const Row& row, size_t i, EdgePicks& picks) {
    const int64_t k = task_.fanout;
    const EdgeNumbers edges = edges_.of(row, i);
    if (k == kAllNeighbors || k >= edges.size())
      return picks.take(edges.size(), [&](int64_t j) { return row.begin + edges[j]; });
    const DrawKeys keys = node_keys(hop_keys_, task_.dst_ids[i]);
    if (edges.size() <= kSpan && take_from_span(keys, edges, row, picks)) return;
    for (int64_t wanted = some_more(k);; wanted *= 2) {
      find(keys, edges, wanted < edges.size() ? threshold_of(wanted, edges.size()) : ~uint64_t{0});
      if (std::ssize(found_) >= k) break;
    }
    keep_smallest(found_, k);
    picks.take(k, [&](int64_t e) { return row.begin + found_[static_cast<size_t>(e)].x; });
  }

 private:
  // Some more than k, in expectation. Hardly ever are there fewer.
  static int64_t some_more(int64_t k) {
    return k + static_cast<int64_t>(2 * std::sqrt(static_cast<double>(k))) + 3;
  }

  // For up to kSpan edges: ranks in vector lanes what is within a bound. Does nothing where that is
  // too little or too much, or where words are equal.
  bool take_from_span(const DrawKeys& keys,
                      const EdgeNumbers& edges,
                      const Row& row,
                      EdgePicks& picks) {
    const int64_t k = task_.fanout;
    const int64_t size = scan(keys, bounds_.of(some_more(k), edges.size()), edges, 0);
    if (size < k || size > kMaxRanked) return false;
    for (size_t e = 0; e < static_cast<size_t>(size); ++e)
      number_[e] = fraction_of(word_[e]);
    if (smallest_(number_.data(), size, k, index_.data()) != k) return false;
    picks.take(k, [&](int64_t e) { return row.begin + edges[index_[static_cast<size_t>(e)]]; });
    return true;
  }

  // Of up to kSpan edges from the first-th on, those whose words are within a bound: in index_ and
  // word_. Returns how many.
  int64_t scan(const DrawKeys& keys,
               const WordBound& bound,
               const EdgeNumbers& edges,
               int64_t first) {
    const int64_t count = std::min(kSpan, edges.size() - first);
    if (edges.are_side_by_side(first, count))
      return kernel_.scan64(beginning_at(keys, edges[first]), bound, kCounted.data(), count,
                            index_.data(), word_.data());
    edges.copy(first, count, x_.data());
    return kernel_.scan64(keys, bound, x_.data(), count, index_.data(), word_.data());
  }

  // All edges whose words are at most `bound`.
  void find(const DrawKeys& keys, const EdgeNumbers& edges, uint64_t bound) {
    found_.clear();
    const WordBound of_row = word_bound(keys.mixture, bound);
    for (int64_t first = 0; first < edges.size(); first += kSpan) {
      const int64_t size = scan(keys, of_row, edges, first);
      for (size_t e = 0; e < static_cast<size_t>(size); ++e)
        found_.push_back({word_[e], edges[first + index_[e]]});
    }
  }

  const RelationRows& task_;
  const DrawKeys& hop_keys_;
  RowEdges edges_;
  LaborKernel kernel_ = best_kernels().labor;
  decltype(WeightedKernel::smallest) smallest_ = best_kernels().weighted.smallest;
  alignas(64) std::array<uint32_t, kSpan + kLaborPadding> index_ = {};
  alignas(64) std::array<double, kMaxRanked + kWeightedPadding> number_ = {};
  std::array<uint64_t, kSpan + kLaborPadding> word_ = {};
  std::array<int64_t, kSpan> x_ = {};
  std::vector<NumberedEdge<uint64_t>> found_;
  WordBounds bounds_;
};

// Once as many rows were drawn from as there are; nullptr before.
template <typename Weight>
const TriesOfRows<Weight>* row_tries_of(const RelationRows& task,
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
                               ScanScratch& scratch,
                               BufferPool& pool,
                               int threads) {
  return scan_edges(task, scratch, pool, threads, false, [&](const RelationRows& rows) {
    return std::make_unique<SmallestWordsRule>(rows, hop_keys);
  });
}

template <typename Id>
Relation sample_weighted(const RelationTask<Id>& task,
                         const WeightedDraws& draws,
                         ScanScratch& scratch,
                         BufferPool& pool,
                         int threads) {
  const auto sample = [&]<typename Weight>(const Array& table) {
    const TriesOfRows<Weight>* const row_tries = row_tries_of<Weight>(task, draws, table, threads);
    return scan_edges(task, scratch, pool, threads, false, [&](const RelationRows& rows) {
      return std::make_unique<WeightedRule<Weight>>(rows, draws, table, row_tries);
    });
  };
  if (task.fanout == 0) return sample.template operator()<float>({});
  const Array& table = task.edges.tables.at(draws.method.table);
  return table.dtype == DType::kFloat32 ? sample.template operator()<float>(table)
                                        : sample.template operator()<double>(table);
}

template Relation sample_smallest_words(
    const RelationTask<int32_t>&, const DrawKeys&, ScanScratch&, BufferPool&, int);
template Relation sample_smallest_words(
    const RelationTask<int64_t>&, const DrawKeys&, ScanScratch&, BufferPool&, int);
template Relation sample_weighted(
    const RelationTask<int32_t>&, const WeightedDraws&, ScanScratch&, BufferPool&, int);
template Relation sample_weighted(
    const RelationTask<int64_t>&, const WeightedDraws&, ScanScratch&, BufferPool&, int);

}  // namespace ramet
