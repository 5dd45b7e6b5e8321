// EdgeTimes: when the edges of an edge type came to be, and which of them a time allows;
// docs/semantics.md, section 16.
//
// A value over a graph's arrays, which must outlive it. Any thread may use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/derived_arrays.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"

namespace ramet {

inline constexpr int64_t kFirstTime = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kLastTime = std::numeric_limits<int64_t>::max();

// Times from `first` to `last`, both included; none where first > last.
struct TimeSpan {
  int64_t first = kFirstTime, last = kLastTime;
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
  [[nodiscard]] bool is_empty() const { return first > last; }
  [[nodiscard]] bool contains(int64_t time) const { return first <= time && time <= last; }
  [[nodiscard]] TimeSpan common(const TimeSpan& other) const {
    return {std::max(first, other.first), std::min(last, other.last)};
  }
};

// Whether a time allows earlier ones, else later ones; and whether equal ones are left out.
constexpr bool allows_past(Comparison comparison) {
  return comparison == Comparison::kAtMost || comparison == Comparison::kBefore;
}
constexpr bool excludes_equal(Comparison comparison) {
  return comparison == Comparison::kBefore || comparison == Comparison::kAfter;
}

// The times of the edges that a tree whose seed has time `now` may have.
[[nodiscard]] TimeSpan allowed_times(const Time& rule, int64_t now);

struct EdgeTimes {
  Time rule;
  const int64_t* of_edges = nullptr;    // by position; nullptr: an edge has its source's time
  const int64_t* of_sources = nullptr;  // by node
  bool sorted = false;                  // the store says that rows are in the order of times
  std::string location;                 // how errors name the table
  // nullptr where there are never any.
  DerivedArrays::Slot* codes = nullptr;    // of TimeCodes
  DerivedArrays::Slot* by_time = nullptr;  // of RowsByTime
  DerivedArrays::Slot* order = nullptr;    // of SortedTimes

  // By position, or by node.
  [[nodiscard]] const int64_t* data() const { return of_edges != nullptr ? of_edges : of_sources; }
  // kCorrupt: an edge, or source, whose time shows that rows are not in the order of times.
  [[noreturn]] void throw_unsorted(int64_t entry) const;
};

// By edge type; nullopt where neither edges nor their sources have times, and none is held back.
// check_time() has accepted the options.
[[nodiscard]] std::vector<std::optional<EdgeTimes>> edge_times(const Graph& graph,
                                                               const std::optional<Time>& rule);

// Throws what options.time, if any, has wrong: kNotFound for a table that is nowhere, else
// kInvalidArgument.
void check_time(const SampleOptions& options, const Graph& graph);

// int64[seeds of all types]: times that were given, or those of the nodes, which are in range.
// [seeds, 2] where the first and the last allowed time of each were given. kInvalidArgument where
// nodes have no times, others than `seeds` were given times, or a window has its end first.
[[nodiscard]] Array seed_times(const Graph& graph,
                               const Time& rule,
                               std::span<const Seeds> seeds,
                               BufferPool& pool);

// What a result of seed_times() allows, by seed.
[[nodiscard]] std::vector<TimeSpan> seed_spans(const Time& rule, const Array& seed_times);

}  // namespace ramet
