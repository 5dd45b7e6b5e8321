#include "labor_sampler.h"

#include <algorithm>
#include <span>

#include "base/block_sum.h"
#include "excluded_edges.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

constexpr int64_t kSpan = int64_t{1} << 14;  // sources that a kernel looks at before they are taken

// Of one thread.
template <typename Id>
class LaborRule {
 public:
  LaborRule(const RelationTask<Id>& task, const LaborDraws& draws) : task_(task), draws_(draws) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    if (draws_.importance != nullptr) {
      accept_by_importance(stored, row, i, picks);
    } else {
      accept(stored, row, picks);
    }
  }

 private:
  template <typename Index, typename Picks>
  void accept(std::span<const Index> stored, const Row& row, Picks& picks) {
    const auto excluded = excluded_in(task_.excluded, row);
    const int64_t degree = row.degree - std::ssize(excluded);
    if (task_.fanout == kAllNeighbors || task_.fanout >= degree) {
      for_each_run(row, excluded, [&](int64_t begin, int64_t end) {
        picks.take(task_, stored, end - begin, [&](int64_t i) { return begin + i; });
      });
      return weigh_alike(degree, degree, picks);
    }
    const uint64_t threshold = threshold_of(task_.fanout, degree);
    const int64_t before = picks.size();
    for_each_run(row, excluded, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kSpan) {
        const uint32_t* accepted = accepted_.data();
        const int64_t size = kernel_(draws_.source_keys, threshold, stored.data() + first,
                                     std::min(kSpan, end - first), accepted_.data());
        picks.take(task_, stored, size, [&](int64_t i) { return first + accepted[i]; });
      }
    });
    weigh_alike(picks.size() - before, task_.fanout, picks);
  }

  // LABOR-i: a probability for every edge. The file may have changed since importances were made.
  template <typename Index, typename Picks>
  void accept_by_importance(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const auto excluded = excluded_in(task_.excluded, row);
    const int64_t degree = row.degree - std::ssize(excluded);
    draws_.importance->load(i, p_);
    if (p_.size() != static_cast<size_t>(degree)) {
      throw_bad_entry(task_.edges.indptr_place, task_.dst_rows.row(task_.dst_nodes()[i]), row.begin,
                      "begins a row whose length changed while it was sampled");
    }
    const double c = solve_c(p_, task_.fanout);
    q_.clear();
    const double* p = p_.data();
    for_each_run(row, excluded, [&](int64_t begin, int64_t end) {
      for (int64_t position = begin; position < end; ++position) {
        const double q = std::min(1.0, c * *p++);
        const auto source = static_cast<uint64_t>(stored[static_cast<size_t>(position)]);
        const bool accepted =
            q == 1 || draw_word(draws_.source_keys, source) <= static_cast<uint64_t>(q * 0x1p64);
        if (!accepted) continue;
        picks.take(task_, stored, 1, [&](int64_t) { return position; });
        q_.push_back(q);
      }
    });
    weigh_by_probability(static_cast<double>(degree), picks);
  }

  // LABOR-0: the last `count` picks are a row's, of `expected`.
  template <typename Picks>
  void weigh_alike(int64_t count, int64_t expected, Picks& picks) const {
    if (!draws_.stores_weights()) return;
    const auto weight = static_cast<float>(1 / static_cast<double>(expected));
    picks.weigh(count, [weight](size_t) { return weight; });
  }

  // LABOR-i: the last picks are a row's, with the probabilities q_.
  template <typename Picks>
  void weigh_by_probability(double degree, Picks& picks) const {
    const double sum = sum_in_blocks(q_, [](double of_pick) { return 1 / of_pick; });
    const bool normalized = draws_.weights == Weights::kNormalized;
    picks.weigh(static_cast<int64_t>(q_.size()), [&](size_t i) {
      return static_cast<float>(normalized ? 1 / q_[i] / sum : 1 / (degree * q_[i]));
    });
  }

  const RelationTask<Id>& task_;
  const LaborDraws& draws_;
  LaborKernel kernel_ = best_kernels().labor;
  std::vector<double> p_;  // LABOR-i: of one row's sources
  std::vector<double> q_;  // LABOR-i: of one row's picks
  std::vector<uint32_t> accepted_ = std::vector<uint32_t>(kSpan + kLaborPadding);
};

}  // namespace

template <typename Id>
Relation sample_labor(const RelationTask<Id>& task,
                      const LaborDraws& draws,
                      ScanScratch<Id>& scratch,
                      BufferPool& pool,
                      int threads) {
  return scan_edges(task, scratch, pool, threads, draws.stores_weights(),
                    [&] { return LaborRule<Id>(task, draws); });
}

template Relation sample_labor(
    const RelationTask<int32_t>&, const LaborDraws&, ScanScratch<int32_t>&, BufferPool&, int);
template Relation sample_labor(
    const RelationTask<int64_t>&, const LaborDraws&, ScanScratch<int64_t>&, BufferPool&, int);

}  // namespace ramet
