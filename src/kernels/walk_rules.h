// The steps of a walk, by CPU and GPU; docs/semantics.md, section 22.
//
// Uniform: one word. By weights: a bisection of the row's sums. Node2vec: rejection, which looks at
// one candidate and, unless that is accepted anyway, at one row (Yang et al.: "KnightKing: a fast
// distributed graph random walk engine", SOSP 2019). A row that rejects kWalkTries candidates is
// added up instead, so that the time is bounded and the distribution stays.
//
// `Rows` reads the edges of one type, and `Row` is where a node's are: `begin` and `degree`.
#pragma once

#include <cstdint>

#include "base/exponential_lanes.h"
#include "base/first_where.h"
#include "base/lanes_scalar.h"
#include "ramet/random.h"

namespace ramet {

// In the place of an edge's position.
inline constexpr int64_t kWalkToStart = -1, kWalkEnds = -2;
inline constexpr uint64_t kWalkTries = 64;

// Node2vec's biases: 1 / p and 1 / q, and of these and 1 the highest and the lowest.
struct WalkBias {
  double back = 1, away = 1;
  double highest = 1, lowest = 1;
};

struct WalkRules {
  double restart, stop;
  bool decreasing;
  bool is_biased;
  WalkBias bias;
};

struct WalkState {
  uint64_t key;
  int64_t start, node;
  int64_t previous = -1;  // node; -1: none since the start
  int64_t time = 0;       // of the edge before; counts where there is a previous node
  int64_t place = 0;      // on the metapath
};

// number: how many of the starts before it are the same node.
constexpr WalkState begin_walk(uint64_t seed, int64_t start, int64_t number) {
  const uint64_t key = absorb(static_cast<uint64_t>(Domain::kWalk), seed);
  return {absorb(absorb(key, static_cast<uint64_t>(start)), static_cast<uint64_t>(number)), start,
          start};
}

constexpr bool happens(double probability, uint64_t word) {
  return fraction_lanes<Scalar>(word) < probability;
}

// The sum of the weights before an edge in the row that begins at `row_begin`, and its own weight.
template <typename Rows>
constexpr double sum_before(const Rows& rows, int64_t position, int64_t row_begin) {
  return position == row_begin ? 0.0 : rows.sum(position - 1);
}
template <typename Rows>
constexpr double walk_weight(const Rows& rows, int64_t position, int64_t row_begin) {
  return rows.has_sums() ? rows.sum(position) - sum_before(rows, position, row_begin) : 1;
}

// The edges of `row` at `now` or later, or at `now` or earlier.
template <typename Rows, typename Row>
constexpr Row row_in_time(const Rows& rows, const Row& row, int64_t now, bool decreasing) {
  const int64_t end = row.begin + row.degree;
  const int64_t first = first_where(row.begin, end, [&](int64_t position) {
    return decreasing ? rows.time(position) > now : rows.time(position) >= now;
  });
  return decreasing ? Row{row.begin, first - row.begin} : Row{first, end - first};
}

// The first edge whose sum is above the point. One that weighs nothing has the sum before it, so it
// is none.
template <typename Rows, typename Row>
constexpr int64_t draw_by_sums(const Rows& rows, const Row& row, int64_t row_begin, uint64_t word) {
  const int64_t end = row.begin + row.degree;
  const double before = sum_before(rows, row.begin, row_begin), last = rows.sum(end - 1);
  if (!(last > before)) return kWalkEnds;
  const double point = before + fraction_lanes<Scalar>(word) * (last - before);
  const auto first = [&](const auto& holds) { return first_where(row.begin, end, holds); };
  const int64_t found = first([&](int64_t position) { return rows.sum(position) > point; });
  if (found < end) return found;  // not rounded up to the last sum
  return first([&](int64_t position) { return rows.sum(position) >= last; });
}

// The edge that a word draws from a part of the row that begins at `row_begin`.
template <typename Rows, typename Row>
constexpr int64_t draw_plain(const Rows& rows, const Row& row, int64_t row_begin, uint64_t word) {
  if (rows.has_sums()) return draw_by_sums(rows, row, row_begin, word);
  return row.begin + static_cast<int64_t>(uniform_below(word, static_cast<uint64_t>(row.degree)));
}

template <typename Rows>
constexpr double bias_of(const Rows& rows,
                         const WalkBias& bias,
                         int64_t position,
                         int64_t previous) {
  const int64_t to = rows.end_of(position);
  if (to == previous) return bias.back;
  const auto row = rows.row(previous);
  const int64_t end = row.begin + row.degree;
  const int64_t found =
      first_where(row.begin, end, [&](int64_t other) { return rows.entry(other) >= to; });
  return found < end && rows.entry(found) == to ? 1.0 : bias.away;
}

template <typename Rows, typename Row>
constexpr int64_t draw_by_biased_sums(const Rows& rows,
                                      const WalkBias& bias,
                                      const Row& row,
                                      int64_t row_begin,
                                      int64_t previous,
                                      uint64_t word) {
  const auto biased = [&](int64_t position) {
    const double plain = walk_weight(rows, position, row_begin);
    return plain == 0 ? 0 : plain * bias_of(rows, bias, position, previous);
  };
  const int64_t end = row.begin + row.degree;
  double total = 0;
  for (int64_t position = row.begin; position < end; ++position)
    total += biased(position);
  const double point = fraction_lanes<Scalar>(word) * total;
  int64_t last = kWalkEnds;  // that weighs something
  double sum = 0;
  for (int64_t position = row.begin; position < end && !(last >= 0 && sum > point); ++position) {
    const double more = biased(position);
    if (more == 0) continue;
    sum += more;
    last = position;
  }
  return last;
}

template <typename Rows, typename Row>
constexpr int64_t draw_biased(const Rows& rows,
                              const WalkBias& bias,
                              const Row& row,
                              int64_t row_begin,
                              int64_t previous,
                              uint64_t key,
                              uint64_t t) {
  for (uint64_t tries = 0; tries < kWalkTries; ++tries, t += 2) {
    const int64_t position = draw_plain(rows, row, row_begin, absorb(key, t));
    if (position < 0) return position;
    const double needed = fraction_lanes<Scalar>(absorb(key, t + 1)) * bias.highest;
    if (needed < bias.lowest || needed < bias_of(rows, bias, position, previous)) return position;
  }
  return draw_by_biased_sums(rows, bias, row, row_begin, previous, absorb(key, t));
}

// The edge of step number `step`, from the row of the walk's node.
template <typename Rows, typename Row>
constexpr int64_t next_edge(const Rows& rows,
                            const WalkRules& rules,
                            const WalkState& state,
                            const Row& whole,
                            int64_t step) {
  constexpr uint64_t kStopWord = 0, kRestartWord = 1, kFirstWord = 2;
  const uint64_t key = absorb(state.key, static_cast<uint64_t>(step));
  if (rules.stop > 0 && happens(rules.stop, absorb(key, kStopWord))) return kWalkEnds;
  if (rules.restart > 0 && state.place == 0 && happens(rules.restart, absorb(key, kRestartWord)))
    return kWalkToStart;
  Row row = whole;
  if (rows.has_times() && state.previous >= 0)
    row = row_in_time(rows, row, state.time, rules.decreasing);
  if (row.degree == 0) return kWalkEnds;
  if (rules.is_biased && state.previous >= 0)
    return draw_biased(rows, rules.bias, row, whole.begin, state.previous, key, kFirstWord);
  return draw_plain(rows, row, whole.begin, absorb(key, kFirstWord));
}

// Along the edge at `position`, or to the start.
template <typename Rows>
constexpr void follow_edge(const Rows& rows,
                           int64_t position,
                           int64_t path_size,
                           WalkState& state) {
  if (position == kWalkToStart) {
    state = {state.key, state.start, state.start};
    return;
  }
  if (rows.has_times()) state.time = rows.time(position);
  state.previous = state.node;
  state.node = rows.end_of(position);
  state.place = state.place + 1 == path_size ? 0 : state.place + 1;
}

}  // namespace ramet
