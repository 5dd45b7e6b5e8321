#include "labor_sampler.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/block_sum.h"
#include "base/fanout.h"
#include "base/grow_array.h"
#include "excluded_edges.h"
#include "kernels/cpu/isa_kernels.h"
#include "labor_edges.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

constexpr int64_t kSpan = int64_t{1} << 14;  // sources that a kernel looks at before they are taken
constexpr int64_t kKeptBounds = 1024;        // of rows with fewer edges
constexpr int64_t kTogether = 1024;          // sources with probabilities of their own

// Of one thread. `edges`: RemainingEdges, or LaborEdges.
template <typename Id, typename RowEdges>
class LaborRule {
 public:
  LaborRule(const RelationTask<Id>& task, const LaborDraws& draws, RowEdges edges)
      : task_(task), draws_(draws), edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const auto edges = edges_.of(stored, row, i);
    if (draws_.importance != nullptr) return accept_by_importance(stored, row, edges, i, picks);
    if constexpr (requires { edges_.solve_c(task_.fanout); }) {
      if (!draws_.method.table.empty()) {
        const double c = edges_.solve_c(task_.fanout);
        return accept_each(stored, row, edges, shares().data(), c, picks);
      }
    }
    accept(stored, row, edges, picks);
  }

  [[nodiscard]] bool reads_sources() const {
    return draws_.importance == nullptr || !draws_.importance->has_ids();
  }

  template <typename Index>
  void request(std::span<const Index> stored, const Row& row) const
    requires requires(const RowEdges& edges) { edges.request(stored, row); }
  {
    edges_.request(stored, row);
  }

 private:
  // Without weights, and LABOR-0: one probability for all.
  template <typename Index, typename Edges, typename Picks>
  void accept(std::span<const Index> stored, const Row& row, const Edges& edges, Picks& picks) {
    const int64_t degree = edges.size();
    if (takes_all(task_.fanout, degree)) {
      picks.take(task_, stored, degree, [&](int64_t j) { return row.begin + edges[j]; });
      return weigh_alike(degree, degree, picks);
    }
    const WordBound bound = bound_of(degree);
    const int64_t before = picks.size();
    const auto scan = [&](const Index* sources, int64_t count, const auto& position_of) {
      uint32_t* const accepted = accepted_.data();
      const int64_t size =
          kernel_.scan(sources)(draws_.source_keys, bound, sources, count, accepted, nullptr);
      picks.take(task_, stored, size, [=](int64_t j) { return position_of(accepted[j]); });
    };
    for_each_span(stored, row, edges, scan);
    weigh_alike(picks.size() - before, task_.fanout, picks);
  }

  // Of a row with so many edges. Those of mixed words are kept, since many rows have as many.
  WordBound bound_of(int64_t degree) {
    const Mixture& mixture = draws_.source_keys.mixture;
    const uint64_t threshold = threshold_of(task_.fanout, degree);
    if (mixture.plain || degree >= kKeptBounds) return word_bound(mixture, threshold);
    bounds_.resize(kKeptBounds);
    WordBound& bound = bounds_[static_cast<size_t>(degree)];
    if (bound.word == 0) bound = word_bound(mixture, threshold);
    return bound;
  }

  // Calls scan(sources, count, position_of) with spans of the edges; position_of(j) is the j-th's.
  template <typename Index, typename Scan>
  void for_each_span(std::span<const Index> stored,
                     const Row& row,
                     const RemainingNumbers& edges,
                     const Scan& scan) {
    for_each_run(row, edges.excluded(), [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kSpan)
        scan(stored.data() + first, std::min(kSpan, end - first),
             [&](int64_t j) { return first + j; });
    });
  }
  template <typename Index, typename Edges, typename Scan>
  void for_each_span(std::span<const Index> stored,
                     const Row& row,
                     const Edges& edges,
                     const Scan& scan) {
    if (const RemainingNumbers* part = edges.part(); part != nullptr)
      return for_each_span(stored, part->row(), *part, scan);
    auto& sources = std::get<std::vector<Index>>(sources_);
    sources.resize(static_cast<size_t>(edges.size()));
    Index* source = sources.data();
    edges.for_each([&](int64_t x) { *source++ = stored[static_cast<size_t>(row.begin + x)]; });
    for (int64_t first = 0; first < edges.size(); first += kSpan)
      scan(sources.data() + first, std::min(kSpan, edges.size() - first),
           [&](int64_t j) { return row.begin + edges[first + j]; });
  }

  // LABOR-i: a probability for every edge. The file may have changed since importances were made.
  template <typename Index, typename Edges, typename Picks>
  void accept_by_importance(
      std::span<const Index> stored, const Row& row, const Edges& edges, size_t i, Picks& picks) {
    const double c = draws_.importance->solve(i, importance_);
    if (importance_.size() != static_cast<size_t>(edges.size())) {
      throw_bad_entry(task_.edges.indptr_location, task_.dst_rows.row(task_.dst_nodes()[i]),
                      row.begin, "begins a row whose length changed while it was sampled");
    }
    double* const p = importance_.p();
    std::fill_n(p + importance_.size(), kLaborPadding, -1);
    if (!draws_.importance->has_ids()) return accept_each(stored, row, edges, p, c, picks);
    const std::span<const int32_t> ids = draws_.importance->ids(i);
    const int64_t count = accept_numbers(edges.size(), p, c, [&](int64_t first, int64_t /*size*/) {
      return &ids[static_cast<size_t>(first)];
    });
    picks.take_known(
        count, [&](int64_t j) { return row.begin + edges[edge_.data()[j]]; },
        [&](int64_t j) { return ids[static_cast<size_t>(edge_.data()[j])]; });
    weigh_by_probability(static_cast<double>(edges.size()), count, picks);
  }

  // Each edge with the probability min(1, c p); kLaborPadding more p are negative.
  template <typename Index, typename Edges, typename Picks>
  void accept_each(std::span<const Index> stored,
                   const Row& row,
                   const Edges& edges,
                   const double* p,
                   double c,
                   Picks& picks) {
    const int64_t count = accept_numbers(edges.size(), p, c, [&](int64_t first, int64_t size) {
      return read_sources(stored, row, edges, first, size);
    });
    picks.take(task_, stored, count, [&](int64_t j) { return row.begin + edges[edge_.data()[j]]; });
    weigh_by_probability(static_cast<double>(edges.size()), count, picks);
  }

  // Writes which edges are accepted, in edge_, and their probabilities. Returns how many.
  // sources_of(first, size): of so many edges, followed by any kLaborPadding more.
  template <typename SourcesOf>
  int64_t accept_numbers(int64_t degree, const double* p, double c, const SourcesOf& sources_of) {
    edge_.reserve(static_cast<size_t>(degree), 0);
    q_.reserve(static_cast<size_t>(degree), 0);
    terms_.reserve(shares().size(), 0);
    int64_t count = 0;
    for (int64_t first = 0; first < degree; first += kTogether) {
      const int64_t size = std::min(kTogether, degree - first);
      const auto* const sources = sources_of(first, size);
      const int64_t found = kernel_.probable(sources)(draws_.source_keys, sources, p + first, size,
                                                      c, word_.data(), accepted_.data());
      for (size_t f = 0; f < static_cast<size_t>(found); ++f) {
        const size_t e = accepted_[f], edge = static_cast<size_t>(first) + e;
        const double q = std::min(1.0, c * p[edge]);
        edge_.data()[count] = static_cast<int64_t>(edge);
        q_.data()[count] = q;
        if (!shares().empty()) terms_.data()[count] = shares()[edge] / q;
        count += q == 1 || word_[e] <= static_cast<uint64_t>(q * 0x1p64) ? 1 : 0;
      }
    }
    return count;
  }

  // Those of `size` edges, where they lie if they are side by side and enough others follow.
  template <typename Index, typename Edges>
  const Index* read_sources(std::span<const Index> stored,
                            const Row& row,
                            const Edges& edges,
                            int64_t first,
                            int64_t size) {
    const auto number = static_cast<size_t>(row.begin + edges[first]);
    const Index* const of_first = stored.data() + number;
    Index* const source = std::get<std::array<Index, kTogether + kLaborPadding>>(source_).data();
    if (edges[first + size - 1] - edges[first] == size - 1) {
      if (number + static_cast<size_t>(size + kLaborPadding) <= stored.size()) return of_first;
      std::copy_n(of_first, size, source);
      return source;
    }
    edges.copy(first, size, number_.data());
    for (size_t e = 0; e < static_cast<size_t>(size); ++e)
      source[e] = stored[static_cast<size_t>(row.begin + number_[e])];
    return source;
  }

  // LABOR-0: the last `count` picks are a row's, of `expected`.
  template <typename Picks>
  void weigh_alike(int64_t count, int64_t expected, Picks& picks) const {
    if (!draws_.stores_weights()) return;
    const auto weight = static_cast<float>(1 / static_cast<double>(expected));
    picks.weigh(count, [weight](size_t) { return weight; });
  }

  // The last `count` picks are a row's, with the probabilities q_.
  template <typename Picks>
  void weigh_by_probability(double degree, int64_t count, Picks& picks) const {
    const bool normalized = draws_.method.weights == Weights::kNormalized;
    const auto of_picks = [count](const GrowArray<double>& values) {
      return std::span(values.data(), static_cast<size_t>(count));
    };
    if (shares().empty()) {
      const auto q = of_picks(q_);
      const double sum = sum_in_blocks(q.size(), [&](size_t j) { return 1 / q[j]; });
      return picks.weigh(count, [&](size_t j) {
        return static_cast<float>(normalized ? 1 / q[j] / sum : 1 / (degree * q[j]));
      });
    }
    const auto terms = of_picks(terms_);
    const double sum = sum_in_blocks(terms.size(), [&](size_t j) { return terms[j]; });
    picks.weigh(count, [&](size_t j) {
      return static_cast<float>(normalized ? terms[j] / sum : terms[j]);
    });
  }

  [[nodiscard]] std::span<const double> shares() const {
    if constexpr (requires { edges_.shares(); })
      return edges_.shares();
    else
      return {};
  }

  const RelationTask<Id>& task_;
  const LaborDraws& draws_;
  RowEdges edges_;
  LaborKernel kernel_ = best_kernels().labor;
  RowImportance importance_;
  // Of one row's picks: which of its edges, probabilities, and with weights what they add to an
  // estimate.
  GrowArray<int64_t> edge_;
  GrowArray<double> q_, terms_;
  alignas(64) std::array<uint64_t, kTogether + kLaborPadding> word_ = {};
  std::tuple<std::array<int32_t, kTogether + kLaborPadding>,
             std::array<int64_t, kTogether + kLaborPadding>>
      source_ = {};
  std::array<int64_t, kTogether> number_ = {};
  std::vector<uint32_t> accepted_ = std::vector<uint32_t>(kSpan + kLaborPadding);
  std::tuple<std::vector<int32_t>, std::vector<int64_t>> sources_;
  std::vector<WordBound> bounds_;  // by number of edges
};

}  // namespace

template <typename Id>
Relation sample_labor(const RelationTask<Id>& task,
                      const LaborDraws& draws,
                      ScanScratch<Id>& scratch,
                      BufferPool& pool,
                      int threads) {
  const auto scan = [&](const auto& make_rule) {
    return scan_edges(task, scratch, pool, threads, draws.stores_weights(), make_rule);
  };
  const std::string& table = draws.method.table;
  const auto of_some = [&] {
    return LaborRule<Id, LaborEdges<Id>>(task, draws, LaborEdges<Id>(task, table));
  };
  if (task.times != nullptr)
    return scan([&] { return RuleInTime<Id, LaborRule<Id, LaborEdges<Id>>>(task, of_some()); });
  if (!table.empty()) return scan(of_some);
  return scan(
      [&] { return LaborRule<Id, RemainingEdges<Id>>(task, draws, RemainingEdges<Id>(task)); });
}

template Relation sample_labor(
    const RelationTask<int32_t>&, const LaborDraws&, ScanScratch<int32_t>&, BufferPool&, int);
template Relation sample_labor(
    const RelationTask<int64_t>&, const LaborDraws&, ScanScratch<int64_t>&, BufferPool&, int);

}  // namespace ramet
