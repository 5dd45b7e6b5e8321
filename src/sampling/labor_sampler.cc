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
#include "word_bounds.h"

namespace ramet {
namespace {

constexpr int64_t kSpan = int64_t{1} << 14;  // sources that a kernel looks at before they are taken
constexpr int64_t kTogether = 1024;          // sources with probabilities of their own

// Index: of stored sources. Of one thread.
template <typename Index>
class LaborRule final : public EdgeRule {
 public:
  LaborRule(const RelationRows& task, const LaborDraws& draws)
      : task_(task),
        stored_(task.edges.indices.as<Index>()),
        draws_(draws),
        edges_(task, draws.method.table),
        bounds_(draws.source_keys.mixture) {}

  void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) override {
    take_each(task_, piece, *this, picks, sizes);
  }

  void pick(const Row& row, size_t i, EdgePicks& picks) {
    const EdgeNumbers edges = edges_.of(row, i);
    if (draws_.importance != nullptr) {
      accept_by_importance(row, edges, i, picks);
    } else if (edges_.have_weights()) {
      accept_each(row, edges, shares().data(), edges_.solve_c(task_.fanout), picks);
    } else {
      accept(row, edges, picks);
    }
  }

  [[nodiscard]] bool reads_sources() const {
    return draws_.importance == nullptr || !draws_.importance->has_ids() || edges_.reads_sources();
  }
  void request(const Row& row, size_t /*i*/) const { edges_.request(row); }
  void touch(const Row& row, size_t /*i*/) const { edges_.touch(row); }

 private:
  // Without weights, and LABOR-0: one probability for all.
  void accept(const Row& row, const EdgeNumbers& edges, EdgePicks& picks) {
    const int64_t degree = edges.size();
    if (takes_all(task_.fanout, degree)) {
      picks.take_read(stored_, degree, [&](int64_t j) { return row.begin + edges[j]; });
      return weigh_alike(degree, degree, picks);
    }
    WordBound& bound = bounds_.of(task_.fanout, degree);
    bound.word = threshold_of(task_.fanout, degree);
    const int64_t before = picks.size();
    const auto scan = [&](const Index* sources, int64_t count, const auto& position_of) {
      uint32_t* const accepted = accepted_.data();
      const int64_t size =
          kernel_.scan(sources)(draws_.source_keys, bound, sources, count, accepted, nullptr);
      picks.take_read(stored_, size, [=](int64_t j) { return position_of(accepted[j]); });
    };
    for_each_span(row, edges, scan);
    weigh_alike(picks.size() - before, task_.fanout, picks);
  }

  // Calls scan(sources, count, position_of) with spans of the edges; position_of(j) is the j-th's.
  template <typename Scan>
  void for_each_span(const Row& row, const EdgeNumbers& edges, const Scan& scan) {
    if (const RemainingNumbers* part = edges.part(); part != nullptr) {
      return for_each_run(part->row(), part->excluded(), [&](int64_t begin, int64_t end) {
        for (int64_t first = begin; first < end; first += kSpan)
          scan(stored_.data() + first, std::min(kSpan, end - first),
               [&](int64_t j) { return first + j; });
      });
    }
    sources_.resize(static_cast<size_t>(edges.size()));
    Index* source = sources_.data();
    edges.for_each([&](int64_t x) { *source++ = stored_[static_cast<size_t>(row.begin + x)]; });
    for (int64_t first = 0; first < edges.size(); first += kSpan)
      scan(sources_.data() + first, std::min(kSpan, edges.size() - first),
           [&](int64_t j) { return row.begin + edges[first + j]; });
  }

  // LABOR-i: a probability for every edge. The file may have changed since importances were made.
  void accept_by_importance(const Row& row, const EdgeNumbers& edges, size_t i, EdgePicks& picks) {
    const double c = draws_.importance->solve(i, importance_);
    if (importance_.size() != static_cast<size_t>(edges.size())) {
      throw_bad_entry(task_.edges.indptr_location, task_.dst_rows.row(task_.dst_ids[i]), row.begin,
                      "begins a row whose length changed while it was sampled");
    }
    double* const p = importance_.p();
    std::fill_n(p + importance_.size(), kLaborPadding, -1);
    if (!draws_.importance->has_ids()) return accept_each(row, edges, p, c, picks);
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
  void accept_each(
      const Row& row, const EdgeNumbers& edges, const double* p, double c, EdgePicks& picks) {
    const int64_t count = accept_numbers(edges.size(), p, c, [&](int64_t first, int64_t size) {
      return read_sources(row, edges, first, size);
    });
    picks.take_read(stored_, count, [&](int64_t j) { return row.begin + edges[edge_.data()[j]]; });
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
  const Index* read_sources(const Row& row, const EdgeNumbers& edges, int64_t first, int64_t size) {
    const auto number = static_cast<size_t>(row.begin + edges[first]);
    const Index* const of_first = stored_.data() + number;
    Index* const source = source_.data();
    if (edges.are_side_by_side(first, size)) {
      if (number + static_cast<size_t>(size + kLaborPadding) <= stored_.size()) return of_first;
      std::copy_n(of_first, size, source);
      return source;
    }
    edges.copy(first, size, number_.data());
    for (size_t e = 0; e < static_cast<size_t>(size); ++e)
      source[e] = stored_[static_cast<size_t>(row.begin + number_[e])];
    return source;
  }

  // LABOR-0: the last `count` picks are a row's, of `expected`.
  void weigh_alike(int64_t count, int64_t expected, EdgePicks& picks) const {
    if (!draws_.stores_weights()) return;
    const auto weight = static_cast<float>(1 / static_cast<double>(expected));
    picks.weigh(count, [weight](size_t) { return weight; });
  }

  // The last `count` picks are a row's, with the probabilities q_.
  void weigh_by_probability(double degree, int64_t count, EdgePicks& picks) const {
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

  [[nodiscard]] std::span<const double> shares() const { return edges_.shares(); }

  const RelationRows& task_;
  const std::span<const Index> stored_;
  const LaborDraws& draws_;
  LaborEdges edges_;
  LaborKernel kernel_ = best_kernels().labor;
  RowImportance importance_;
  // Of one row's picks: which of its edges, probabilities, and with weights what they add to an
  // estimate.
  GrowArray<int64_t> edge_;
  GrowArray<double> q_, terms_;
  alignas(64) std::array<uint64_t, kTogether + kLaborPadding> word_ = {};
  std::array<Index, kTogether + kLaborPadding> source_ = {};
  std::array<int64_t, kTogether> number_ = {};
  std::vector<uint32_t> accepted_ = std::vector<uint32_t>(kSpan + kLaborPadding);
  std::vector<Index> sources_;
  WordBounds bounds_;
};

}  // namespace

template <typename Id>
Relation sample_labor(const RelationTask<Id>& task,
                      const LaborDraws& draws,
                      ScanScratch& scratch,
                      BufferPool& pool,
                      int threads) {
  const auto make_rule = [&](const RelationRows& rows) -> std::unique_ptr<EdgeRule> {
    if (rows.edges.indices.dtype == DType::kInt32)
      return std::make_unique<LaborRule<int32_t>>(rows, draws);
    return std::make_unique<LaborRule<int64_t>>(rows, draws);
  };
  return scan_edges(task, scratch, pool, threads, draws.stores_weights(), make_rule);
}

template Relation sample_labor(
    const RelationTask<int32_t>&, const LaborDraws&, ScanScratch&, BufferPool&, int);
template Relation sample_labor(
    const RelationTask<int64_t>&, const LaborDraws&, ScanScratch&, BufferPool&, int);

}  // namespace ramet
