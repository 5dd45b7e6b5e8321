// WeightedRule: draws the in-edges of a row in proportion to their weights; docs/semantics.md,
// section 13.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ascending.h"
#include "base/draw_keys.h"
#include "base/prefetch.h"
#include "base/rejection.h"
#include "edge_scan.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sampler.h"
#include "relation_builder.h"
#include "row_edges.h"
#include "row_tries.h"
#include "smallest_edges.h"
#include "smallest_sampler.h"
#include "weights.h"

namespace ramet {

inline constexpr int64_t kWeightedSpan = 1024;  // edges that are looked at together

// The streams of the first edges of a row.
struct CountedStreams {
  alignas(64) std::array<uint64_t, kWeightedSpan> of = {};
  constexpr CountedStreams() {
    for (size_t x = 0; x < of.size(); ++x)
      of[x] = stream_of_value(x);
  }
};
inline constexpr CountedStreams kCountedStreams;

// Draws by rejection (base/rejection.h) where that costs less than to look at the whole row. Else,
// or where tries did not suffice: Efraimidis, Spirakis: "Weighted random sampling with a
// reservoir", 2006. An exponential number divided by the weight is the time at which an edge is
// drawn, if edges are drawn one after the other in proportion to the weights that are left. Of one
// thread.
template <typename Weight>
class WeightedRule final : public EdgeRule {
 public:
  // `row_tries`: or nullptr. kInvalidArgument: too many picks.
  WeightedRule(const RelationRows& task,
               const WeightedDraws& draws,
               const Array& table,
               const TriesOfRows<Weight>* row_tries)
      : task_(task),
        hop_keys_(draws.hop_keys),
        method_(draws.method),
        rejects_(!draws.dependent),
        weights_(table.as<Weight>()),
        row_tries_(row_tries),
        edges_(task) {
    if (method_.replace && task.fanout > kMaxPicks / std::max<int64_t>(task.num_dst(), 1))
      throw_too_many_picks(task.edges, task.fanout, task.num_dst(), kMaxPicks);
  }

  void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) override {
    take_each(task_, piece, *this, picks, sizes);
  }

  void pick(const Row& row, size_t i, EdgePicks& picks) {
    const DrawKeys keys = node_keys(hop_keys_, task_.dst_ids[i]);
    const EdgeNumbers edges = edges_.of(row, i);
    picked_.clear();
    few_.clear();
    if (task_.fanout == kAllNeighbors || (!method_.replace && task_.fanout >= edges.size())) {
      take_positive(row, edges);
    } else {
      if (rejects_ && edges.size() == row.degree) draw_by_tries(keys, row, i);
      draw_rest(keys, row, edges);
    }
    picks.take(std::ssize(picked_),
               [&](int64_t e) { return row.begin + picked_[static_cast<size_t>(e)]; });
  }

  [[nodiscard]] bool reads_sources() const { return edges_.reads_sources(); }

  // Asks for the first of what request() will ask for.
  void touch(const Row& row, size_t i) const {
    if (edges_.have_times() || row_tries_ == nullptr) return;
    prefetch(row_tries_->data() + number_of_row(i));
    prefetch(row_tries_->codes() + row.begin);
  }
  // Asks for what will be read of a row that will be drawn from soon; makes its first tries, which
  // say what that is. Where times hold edges back, there hardly are any.
  void request(const Row& row, size_t i) {
    if (edges_.have_times()) return edges_.request(row);
    if (row_tries_ == nullptr || !may_reject(task_.fanout, method_.replace, row.degree))
      return request_whole(weights_.data() + row.begin, row.degree);
    prefetch(row_tries_->data() + number_of_row(i));
    SomeTries& tries = ahead_[i % kAhead].tries;
    ahead_[i % kAhead].i = i;
    kernel_.tries(node_keys(hop_keys_, task_.dst_ids[i]), row.degree, 0, tries);
    for (const uint64_t x : tries.position)
      prefetch(row_tries_->codes() + row.begin + x);
  }

 private:
  static constexpr int64_t kSpan = kWeightedSpan;
  static constexpr int64_t kFew = 32;             // picks that are kept in order
  static constexpr int64_t kMostRequested = 512;  // of a row; the hardware sees the rest
  static constexpr double kNoBound = std::numeric_limits<double>::max();
  template <typename T>
  using OfSpan = std::array<T, kSpan + kWeightedPadding>;

  template <typename T>
  static void request_whole(const T* of_row, int64_t degree) {
    for (int64_t x = 0; x < std::min(degree, kMostRequested); x += 64 / sizeof(T))
      prefetch(of_row + x);
  }

  [[nodiscard]] int64_t number_of_row(size_t i) const {
    return task_.dst_rows.row(task_.dst_ids[i]);
  }
  [[nodiscard]] RowTries<Weight> tries_of(const Row& row, size_t i) const {
    return row_tries_ != nullptr ? row_tries_->data()[number_of_row(i)]
                                 : row_tries(weights_.data() + row.begin, row.degree);
  }

  // Picks of a whole row, until they are as many as wanted, or tries have been enough.
  void draw_by_tries(const DrawKeys& keys, const Row& row, size_t i) {
    const int64_t k = task_.fanout;
    if (!may_reject(k, method_.replace, row.degree)) return;
    const RowTries<Weight> of_row = tries_of(row, i);
    if (!draws_by_rejection(k, method_.replace, row.degree, of_row.tries)) return;
    const int64_t most = most_tries(k, of_row.tries);
    const bool made_ahead = ahead_[i % kAhead].i == i;
    const TriedRow<Weight> tried{weights_.data() + row.begin,
                                 row_tries_ != nullptr ? row_tries_->codes() + row.begin : nullptr,
                                 static_cast<double>(of_row.largest)};
    for (int64_t t = 0; t < most && num_drawn() < k; t += SomeTries::kCount) {
      const int64_t count = std::min(SomeTries::kCount, most - t);
      const SomeTries& tries = t == 0 && made_ahead ? ahead_[i % kAhead].tries : tries_;
      if (&tries == &tries_) kernel_.tries(keys, row.degree, t, tries_);
      take_tries(scan_.accepted(tried, tries, count, found_.data()));
    }
    finish_drawn();
    tried_.clear();
  }

  // Takes the positions found, in this order, as long as there are too few picks.
  void take_tries(int64_t found) {
    const auto is_new = [&](int64_t x) {
      if (method_.replace) return true;
      return keeps_few() ? !few_.contains(x) : tried_.insert(x).second;
    };
    for (size_t e = 0; e < static_cast<size_t>(found) && num_drawn() < task_.fanout; ++e)
      if (const int64_t x = found_[e]; is_new(x)) add_drawn(x);
  }

  // Few that are drawn one after the other are kept ascending as they come.
  [[nodiscard]] bool keeps_few() const { return task_.fanout <= kFew; }
  [[nodiscard]] int64_t num_drawn() const {
    return keeps_few() ? few_.size() : std::ssize(picked_);
  }
  void add_drawn(int64_t x) {
    if (keeps_few()) {
      few_.insert(x);
    } else {
      picked_.push_back(x);
    }
  }
  void finish_drawn() {
    if (keeps_few()) {
      picked_.assign(few_.begin(), few_.end());
    } else {
      std::sort(picked_.begin(), picked_.end());
    }
  }

  // What tries did not give.
  void draw_rest(const DrawKeys& keys, const Row& row, const EdgeNumbers& edges) {
    if (std::ssize(picked_) == task_.fanout) return;
    if (method_.replace) {
      draw(keys, row, edges);
    } else if (picked_.empty()) {
      draw_distinct(keys, row, edges);
    } else {
      draw_others(keys, row, edges);
    }
  }

  // Draws from the edges that are not picked yet. Seldom called.
  void draw_others(const DrawKeys& keys, const Row& row, const EdgeNumbers& edges) {
    const auto is_picked = [&](int64_t x) {
      return std::binary_search(picked_.begin(), picked_.end(), x);
    };
    smallest_.clear();
    for_each_span(row, edges, [&](const Span& span) {
      const int64_t found = find_numbers(keys, span, kNoBound).found;
      for (size_t e = 0; e < static_cast<size_t>(found); ++e)
        if (const int64_t x = number_in_row(span, found_[e]);
            number_[e] <= kNoBound && !is_picked(x))
          smallest_.push_back({number_[e], x});
    });
    keep_smallest(smallest_, task_.fanout - std::ssize(picked_));
    for (const auto& edge : smallest_)
      picked_.push_back(edge.x);
    std::sort(picked_.begin(), picked_.end());
  }

  // Some edges of a row. Weights lie where the table has them, which others may write to: what is
  // read again may be anything.
  struct Span {
    int64_t count, first;  // the first edge's number in its row
    bool side_by_side;
    const uint64_t* streams;  // of numbers from 0 on, where side by side
    const Weight* weights;
  };

  // `keys` for the edges of a span.
  static DrawKeys keys_of(const Span& span, const DrawKeys& keys) {
    return span.side_by_side ? beginning_at(keys, span.first) : keys;
  }
  [[nodiscard]] int64_t number_in_row(const Span& span, size_t e) const {
    return span.side_by_side ? span.first + static_cast<int64_t>(e) : x_[e];
  }

  // The edges from the first-th of a row on, until the next call.
  Span span_at(const Row& row, const EdgeNumbers& edges, int64_t first) {
    const int64_t count = std::min(kSpan, edges.size() - first), x = edges[first];
    if (edges.are_side_by_side(first, count))
      return {count, x, true, kCountedStreams.of.data(), weights_.data() + row.begin + x};
    edges.copy(first, count, x_.data());
    for (size_t e = 0; e < static_cast<size_t>(count); ++e) {
      stream_[e] = stream_of_value(static_cast<uint64_t>(x_[e]));
      weight_[e] = weights_[static_cast<size_t>(row.begin + x_[e])];
    }
    return {count, x, false, stream_.data(), weight_.data()};
  }

  // The sum of the weights, or nearly. kInvalidArgument where one is none.
  double checked_sum(const Row& row, const Span& span) const {
    double sum = scan_.sum(span.weights, span.count);
    if (!std::isnan(sum)) return sum;
    sum = 0;
    for (size_t e = 0; e < static_cast<size_t>(span.count); ++e)
      sum +=
          checked_weight(weights_, row.begin + number_in_row(span, e), method_.table, task_.edges);
    return sum;
  }

  // Calls body(span) for one span of the row's edges after the other.
  template <typename Body>
  void for_each_span(const Row& row, const EdgeNumbers& edges, Body&& body) {
    for (int64_t first = 0; first < edges.size(); first += kSpan)
      body(span_at(row, edges, first));
  }

  void take_positive(const Row& row, const EdgeNumbers& edges) {
    for_each_span(row, edges, [&](const Span& span) {
      checked_sum(row, span);
      for (size_t e = 0; e < static_cast<size_t>(span.count); ++e)
        if (span.weights[e] > 0) picked_.push_back(number_in_row(span, e));
    });
  }

  // Guesses a bound that some more edges than wanted are within: of weights that are alike, a time
  // t has drawn all but a part exp(-t w). Where few weights have most of the sum it may be too
  // small.
  void draw_distinct(const DrawKeys& keys, const Row& row, const EdgeNumbers& edges) {
    double sum = 0;
    Span last = {};
    for_each_span(row, edges, [&](const Span& span) {
      sum += checked_sum(row, span);
      last = span;
    });
    if (sum == 0) return;
    const auto size = static_cast<double>(edges.size()), k = static_cast<double>(task_.fanout);
    const double wanted = k + 2 * std::sqrt(k) + 3;
    double bound = wanted < 0.75 * size ? wanted / (size - wanted / 2) * (size / sum) : kNoBound;
    const auto is_found = [&] {
      return edges.size() <= kSpan ? find_in_span(keys, row, edges, last, bound)
                                   : find_in_spans(keys, row, edges, bound);
    };
    for (int tries = 1; !is_found(); ++tries)
      bound = tries < 3 ? 8 * bound : kNoBound;
  }

  // Draws from a row of one span if k numbers are at most `bound`, or if there is no bound.
  bool find_in_span(const DrawKeys& keys,
                    const Row& row,
                    const EdgeNumbers& edges,
                    const Span& span,
                    double bound) {
    const int64_t k = task_.fanout;
    const auto [found, within] = find_numbers(keys, span, bound);
    if (within < k && bound != kNoBound) return false;
    if (found > k &&
        (found > kMaxRanked || kernel_.smallest(number_.data(), found, k, found_.data()) != k))
      return find_in_spans(keys, row, edges, bound);  // many, or equal ones
    for (size_t e = 0; e < static_cast<size_t>(std::min(found, k)); ++e)
      picked_.push_back(number_in_row(span, found_[e]));
    return true;
  }

  struct Counts {
    int64_t found, within;
  };

  // The numbers of the span that may be within the bound, and of those how many are.
  Counts find_numbers(const DrawKeys& keys, const Span& span, double bound) {
    const DrawKeys of_span = keys_of(span, keys);
    const int64_t found =
        scan_.candidates(of_span, span.streams, span.weights, span.count, bound, found_.data());
    return {found, scan_.numbers(of_span, span.streams, span.weights, found_.data(), found, bound,
                                 number_.data())};
  }

  // The same for rows of any length.
  bool find_in_spans(const DrawKeys& keys, const Row& row, const EdgeNumbers& edges, double bound) {
    const int64_t k = task_.fanout;
    double limit = bound;  // k edges before have smaller numbers
    smallest_.clear();
    for_each_span(row, edges, [&](const Span& span) {
      const int64_t found = find_numbers(keys, span, limit).found;
      for (size_t e = 0; e < static_cast<size_t>(found); ++e)
        if (number_[e] <= limit) smallest_.push_back({number_[e], number_in_row(span, found_[e])});
      if (std::ssize(smallest_) < 2 * k) return;
      keep_smallest(smallest_, k);
      limit = std::min(limit, largest_kept());
    });
    keep_smallest(smallest_, k);
    if (bound != kNoBound && std::ssize(smallest_) < k) return false;
    for (const auto& edge : smallest_)
      picked_.push_back(edge.x);
    return true;
  }

  [[nodiscard]] double largest_kept() const {
    return std::max_element(smallest_.begin(), smallest_.end())->number;
  }

  // Independent draws: the first edge at which the running sum of weights exceeds a fraction of it.
  void draw(const DrawKeys& keys, const Row& row, const EdgeNumbers& edges) {
    const auto size = static_cast<size_t>(edges.size());
    sums_.resize(std::max(sums_.size(), size + kWeightedPadding));
    double sum = 0, *sums = sums_.data();
    for_each_span(row, edges, [&](const Span& span) {
      const double before = std::exchange(sum, scan_.running(span.weights, span.count, sum, sums));
      if (std::isnan(sum)) {
        checked_sum(row, span);
        sum = before;
        for (int64_t e = 0; e < span.count; ++e)
          sums[e] = sum += static_cast<double>(span.weights[e]);
      }
      sums += span.count;
    });
    if (sum == 0) return;
    for (int64_t t = num_drawn(); t < task_.fanout; ++t) {
      const double u = fraction_of(draw_word(keys, static_cast<uint64_t>(t)));
      add_drawn(edges[first_above(sums_.data(), size, u * sum)]);  // u * sum < sum
    }
    finish_drawn();
  }

  const RelationRows& task_;
  const DrawKeys& hop_keys_;
  const Weighted& method_;
  const bool rejects_;
  const std::span<const Weight> weights_;
  const TriesOfRows<Weight>* const row_tries_;
  RowEdges edges_;
  WeightedKernel kernel_ = best_kernels().weighted;
  WeightedScan<Weight> scan_ = kernel_.scan(weights_.data());
  alignas(64) OfSpan<double> number_ = {};
  alignas(64) OfSpan<uint32_t> found_ = {};
  // Of edges that are not side by side.
  alignas(64) OfSpan<uint64_t> stream_ = {};
  OfSpan<Weight> weight_ = {};
  OfSpan<int64_t> x_ = {};
  std::vector<NumberedEdge<double>> smallest_;
  std::vector<double> sums_;
  std::vector<int64_t> picked_;
  FewAscending<kFew> few_;
  std::unordered_set<int64_t> tried_;  // of many picks
  SomeTries tries_;
  struct Ahead {
    size_t i = ~size_t{0};  // the destination
    SomeTries tries;
  };
  static constexpr size_t kAhead = 8;  // more than request() is ahead of a row
  std::array<Ahead, kAhead> ahead_;
};

}  // namespace ramet
