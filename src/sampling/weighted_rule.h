// WeightedRule: draws the in-edges of a row in proportion to their weights; docs/semantics.md,
// section 13.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/draw_keys.h"
#include "base/prefetch.h"
#include "edge_scan.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sampler.h"
#include "relation_builder.h"
#include "smallest_edges.h"
#include "weights.h"

namespace ramet {

// The first of the ascending `sums` that exceeds `value`; the last exceeds it. By masks, for nobody
// can predict the branches.
inline int64_t first_above(const std::vector<double>& sums, double value) {
  size_t first = 0;
  for (size_t size = sums.size(); size > 1;) {
    const size_t half = size / 2;
    first += half & (0 - static_cast<size_t>(sums[first + half - 1] <= value));
    size -= half;
  }
  return static_cast<int64_t>(first);
}

// Inserts x, which is at least 0, into the ascending values. By masks as well.
inline void insert_ascending(std::vector<int64_t>& values, int64_t x) {
  for (int64_t& value : values) {
    const int64_t below = value - x, change = below & (below >> 63);
    const int64_t larger = value - change;
    value = x + change;
    x = larger;
  }
  values.push_back(x);
}

// Efraimidis, Spirakis: "Weighted random sampling with a reservoir", 2006. An
// exponential number divided by the weight is the time at which an edge is drawn, if edges are
// drawn one after the other in proportion to the weights that are left. Of one thread.
template <typename Id, typename Weight, typename RowEdges>
class WeightedRule {
 public:
  static constexpr bool reads_sources() { return false; }

  WeightedRule(const RelationTask<Id>& task,
               const DrawKeys& hop_keys,
               const Weighted& method,
               const Array& table,
               RowEdges edges)
      : task_(task),
        hop_keys_(hop_keys),
        method_(method),
        weights_(table.as<Weight>()),
        edges_(std::move(edges)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const DrawKeys keys = node_keys(hop_keys_, task_.dst_nodes()[i]);
    const auto edges = edges_.of(stored, row, i);
    picked_.clear();
    if (task_.fanout == kAllNeighbors || (!method_.replace && task_.fanout >= edges.size())) {
      take_positive(row, edges);
    } else if (method_.replace) {
      draw(keys, row, edges);
    } else {
      draw_distinct(keys, row, edges);
    }
    picks.take_unread(std::ssize(picked_),
                      [&](int64_t e) { return row.begin + picked_[static_cast<size_t>(e)]; });
  }

  // Asks for the weights of a row that will be drawn from soon.
  template <typename Index>
  void request(std::span<const Index> /*stored*/, const Row& row) const {
    constexpr int64_t kMost = 512;  // the hardware sees the rest
    constexpr int64_t kWeightsOfLine = 64 / sizeof(Weight);
    const Weight* of_row = weights_.data() + row.begin;
    for (int64_t x = 0; x < std::min(row.degree, kMost); x += kWeightsOfLine)
      prefetch(of_row + x);
  }

 private:
  static constexpr int64_t kSpan = 1024;  // edges that are looked at together
  static constexpr double kNoBound = std::numeric_limits<double>::max();
  template <typename T>
  using OfSpan = std::array<T, kSpan + kWeightedPadding>;

  [[nodiscard]] double weight(const Row& row, int64_t x) const {
    return checked_weight(weights_, row.begin + x, method_.table, task_.edges);
  }

  // Calls body(count) for one span of the row's edges after the other, whose numbers in the row are
  // in x_ and whose weights are in weight_. Returns the sum of all weights, in any order.
  template <typename Edges, typename Body>
  double for_each_span(const Row& row, const Edges& edges, Body&& body) {
    double sum = 0;
    for (int64_t first = 0; first < edges.size(); first += kSpan) {
      const int64_t count = std::min(kSpan, edges.size() - first);
      edges.copy(first, count, x_.data());
      sum += load_weights(row, count);
      body(count);
    }
    return sum;
  }

  double load_weights(const Row& row, int64_t count) {
    double sum = std::numeric_limits<double>::quiet_NaN();
    if (x_[static_cast<size_t>(count - 1)] - x_[0] == count - 1)  // side by side
      sum = kernel_.load(weights_.data() + row.begin + x_[0], count, weight_.data());
    if (std::isnan(sum)) {
      sum = 0;
      for (size_t e = 0; e < static_cast<size_t>(count); ++e)
        sum += weight_[e] = weight(row, x_[e]);
    }
    std::fill_n(weight_.begin() + count, kWeightedPadding, 0.0);
    return sum;
  }

  template <typename Edges>
  void take_positive(const Row& row, const Edges& edges) {
    for_each_span(row, edges, [&](int64_t count) {
      for (size_t e = 0; e < static_cast<size_t>(count); ++e)
        if (weight_[e] > 0) picked_.push_back(x_[e]);
    });
  }

  // Guesses a bound that some more edges than wanted are within: of weights that are alike, a time
  // t has drawn all but a part exp(-t w). Where few weights have most of the sum it may be too
  // small.
  template <typename Edges>
  void draw_distinct(const DrawKeys& keys, const Row& row, const Edges& edges) {
    const double sum = for_each_span(row, edges, [](int64_t) {});
    if (sum == 0) return;
    const auto size = static_cast<double>(edges.size()), k = static_cast<double>(task_.fanout);
    const double wanted = k + 2 * std::sqrt(k) + 3;
    double bound = wanted < 0.75 * size ? wanted / (size - wanted / 2) * (size / sum) : kNoBound;
    for (int tries = 1; !find_within(keys, row, edges, bound); ++tries)
      bound = tries < 3 ? 8 * bound : kNoBound;
  }

  // Draws if k numbers are at most `bound`, or if there is no bound.
  template <typename Edges>
  bool find_within(const DrawKeys& keys, const Row& row, const Edges& edges, double bound) {
    if (edges.size() > kSpan) return find_in_spans(keys, row, edges, bound);
    const int64_t k = task_.fanout;
    const auto [found, within] = find_numbers(keys, edges.size(), bound);
    if (within < k && bound != kNoBound) return false;
    if (found > k &&
        (found > kMaxRanked || kernel_.smallest(number_.data(), found, k, found_.data()) != k))
      return find_in_spans(keys, row, edges, bound);  // many, or equal ones
    for (size_t e = 0; e < static_cast<size_t>(std::min(found, k)); ++e)
      picked_.push_back(x_[found_[e]]);
    return true;
  }

  struct Counts {
    int64_t found, within;
  };

  // The numbers of the span that may be within the bound, and of those how many are.
  Counts find_numbers(const DrawKeys& keys, int64_t count, double bound) {
    const int64_t found = kernel_.candidates(keys, x_.data(), weight_.data(), count, bound,
                                             word_.data(), found_.data());
    return {found, kernel_.numbers(word_.data(), weight_.data(), found_.data(), found, bound,
                                   number_.data())};
  }

  // The same for rows of any length.
  template <typename Edges>
  bool find_in_spans(const DrawKeys& keys, const Row& row, const Edges& edges, double bound) {
    const int64_t k = task_.fanout;
    double limit = bound;  // k edges before have smaller numbers
    smallest_.clear();
    for_each_span(row, edges, [&](int64_t count) {
      const int64_t found = find_numbers(keys, count, limit).found;
      for (size_t e = 0; e < static_cast<size_t>(found); ++e)
        smallest_.push_back({number_[e], x_[found_[e]]});
      if (std::ssize(smallest_) < 2 * k) return;
      keep_smallest(smallest_, k);
      limit = std::min(limit, largest_kept());
    });
    keep_smallest(smallest_, k);
    if (bound != kNoBound && (std::ssize(smallest_) < k || largest_kept() > bound)) return false;
    for (const auto& edge : smallest_)
      picked_.push_back(edge.x);
    return true;
  }

  [[nodiscard]] double largest_kept() const {
    return std::max_element(smallest_.begin(), smallest_.end())->number;
  }

  // Independent draws: the first edge at which the running sum of weights exceeds a fraction of it.
  template <typename Edges>
  void draw(const DrawKeys& keys, const Row& row, const Edges& edges) {
    constexpr int64_t kFew = 32;
    sums_.clear();
    double sum = 0;
    for_each_span(row, edges, [&](int64_t count) {
      const size_t before = sums_.size();
      sums_.resize(before + static_cast<size_t>(count));
      double running = sum;  // in a register
      for (size_t e = 0; e < static_cast<size_t>(count); ++e)
        sums_[before + e] = running += weight_[e];
      sum = running;
    });
    if (sum == 0) return;
    if (task_.fanout > kMaxPicks / task_.num_dst())
      throw_too_many_picks(task_.edges, task_.fanout, task_.num_dst(), kMaxPicks);
    for (int64_t t = 0; t < task_.fanout; ++t) {
      const double u = fraction_of(draw_word(keys, static_cast<uint64_t>(t)));
      const int64_t x = edges[first_above(sums_, u * sum)];  // u * sum < sum
      if (task_.fanout <= kFew) {
        insert_ascending(picked_, x);
      } else {
        picked_.push_back(x);
      }
    }
    if (task_.fanout > kFew) std::sort(picked_.begin(), picked_.end());
  }

  const RelationTask<Id>& task_;
  const DrawKeys& hop_keys_;
  const Weighted& method_;
  const std::span<const Weight> weights_;
  RowEdges edges_;
  WeightedKernel kernel_ = best_kernels().weighted;
  alignas(64) OfSpan<double> weight_ = {};
  alignas(64) OfSpan<double> number_ = {};
  alignas(64) OfSpan<uint64_t> word_ = {};
  alignas(64) OfSpan<uint32_t> found_ = {};
  OfSpan<int64_t> x_ = {};
  std::vector<NumberedEdge<double>> smallest_;
  std::vector<double> sums_;
  std::vector<int64_t> picked_;
};

}  // namespace ramet
