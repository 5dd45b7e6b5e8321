// EdgesInTime: which in-edges of a row the time of its tree allows, for the rules of an EdgeScan.
// docs/semantics.md, section 16.
//
// Rows that the store says are sorted by time are searched. The store may be wrong: what was drawn
// from such a row is checked (kCorrupt), until all rows were found to be sorted (sorted_times.h).
// So nothing comes from the future. Of other rows, every edge's time is read, or its code
// (time_codes.h), once there are any.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "edge_scan.h"
#include "edge_times.h"
#include "excluded_edges.h"
#include "kernels/cpu/isa_kernels.h"
#include "relation_builder.h"
#include "rows.h"
#include "sorted_times.h"
#include "time_codes.h"

namespace ramet {

// For a task with times. Of one thread.
template <typename Id>
class EdgesInTime {
 public:
  // Numbers of edges in their row, ascending; until the next call of of().
  class Edges {
   public:
    // What remains of a part of the row that begins at number `first`.
    Edges(int64_t first, const RemainingNumbers& part) : first_(first), part_(part) {}
    explicit Edges(std::span<const int64_t> numbers)
        : numbers_(numbers.data()), part_({0, std::ssize(numbers)}, {}) {}

    [[nodiscard]] int64_t size() const { return part_.size(); }
    // What remains of a part of the row; nullptr where numbers are listed.
    [[nodiscard]] const RemainingNumbers* part() const {
      return numbers_ == nullptr ? &part_ : nullptr;
    }
    int64_t operator[](int64_t j) const {
      return numbers_ == nullptr ? first_ + part_[j] : numbers_[j];
    }
    void copy(int64_t j, int64_t count, int64_t* out) const {
      if (numbers_ != nullptr) {
        std::copy_n(numbers_ + j, count, out);
      } else {
        part_.copy(j, count, out);
        std::for_each_n(out, count, [&](int64_t& number) { number += first_; });
      }
    }
    template <typename Body>
    void for_each(Body&& body) const {
      part_.for_each([&](int64_t j) { body(numbers_ == nullptr ? first_ + j : numbers_[j]); });
    }

   private:
    const int64_t* numbers_ = nullptr;
    int64_t first_ = 0;
    RemainingNumbers part_;
  };

  explicit EdgesInTime(const RelationTask<Id>& task)
      : task_(task),
        times_(*task.times),
        codes_(times_.codes == nullptr ? nullptr : times_.codes->get<TimeCodes>()) {}

  [[nodiscard]] bool need_check() const { return times_.sorted && known_order(times_) == nullptr; }
  [[nodiscard]] bool reads_sources() const {
    return times_.of_edges == nullptr && codes_ == nullptr;
  }

  // Of destination i, whose row it is.
  template <typename Index>
  Edges of(std::span<const Index> stored, const Row& row, size_t i) {
    const TimeSpan allowed = task_.allowed[i];
    if (times_.sorted || allowed.is_empty()) {
      const Row allowed_part = part(stored, row, i);
      return {allowed_part.begin - row.begin,
              RemainingNumbers(allowed_part, task_.excluded_in(allowed_part))};
    }
    return in(stored, row, allowed);
  }

  // The edges of a row in no order whose times are in `allowed`; as of().
  template <typename Index>
  Edges in(std::span<const Index> stored, const Row& row, const TimeSpan& allowed) {
    return in(stored, row, allowed, code_span(allowed));
  }

  // The same, or some of the latest of them, at least `count`.
  template <typename Index>
  Edges latest(std::span<const Index> stored,
               const Row& row,
               const TimeSpan& allowed,
               int64_t count) {
    const CodeSpan codes = code_span(allowed);
    if (codes_ == nullptr || allowed.is_empty()) return in(stored, row, allowed, codes);
    const auto k = static_cast<double>(count);  // and some more, for times are not spread evenly
    const CodeSpan last =
        codes_->last_part(codes, (k + 2 * std::sqrt(k) + 3) / static_cast<double>(row.degree));
    const Edges edges = in(stored, row, allowed, last);
    if (edges.size() >= count || last.first == codes.first) return edges;
    return in(stored, row, allowed, codes);
  }

  // The edges of in(), of a row of fewer than 2^32. Writes their numbers to `found`, which has room
  // for those of the row and kWithinPadding; returns how many there are.
  template <typename Index>
  int64_t find(std::span<const Index> stored,
               const Row& row,
               const TimeSpan& allowed,
               uint32_t* found) {
    return find(stored, row, allowed, code_span(allowed), found);
  }

  // Of sorted rows: all of the allowed edges, also the excluded ones.
  template <typename Index>
  Row part(std::span<const Index> stored, const Row& row, size_t i) const {
    if (!task_.parts.empty()) return task_.parts[i];
    const TimeSpan allowed = task_.allowed[i];
    if (allowed.is_empty()) return {row.begin, 0};
    return with_time_at(stored, [&](const auto& time_at) { return search(row, allowed, time_at); });
  }

  template <typename Index>
  int64_t time(std::span<const Index> stored, int64_t position) const {
    return with_time_at(stored, [&](const auto& time_at) { return time_at(position); });
  }

  // Whether those of rank() have 16 bits.
  [[nodiscard]] bool has_short_ranks() const { return codes_ != nullptr; }
  // What ascends with time, and is faster to read where there are codes.
  template <typename Index>
  int64_t rank(std::span<const Index> stored, int64_t position) const {
    return codes_ == nullptr ? time(stored, position) : codes_->data()[position];
  }

  // kCorrupt unless the time allows the last `count` picks, which are of destination i.
  template <typename Picks>
  void check(size_t i, int64_t count, const Picks& picks) const {
    const TimeSpan allowed = task_.allowed[i];
    for (int64_t e = picks.size() - count; e < picks.size(); ++e) {
      const bool is_of_edges = times_.of_edges != nullptr;
      const int64_t entry = is_of_edges ? int64_t{picks.position()[e]} : int64_t{picks.source()[e]};
      const int64_t found = is_of_edges ? times_.of_edges[entry] : times_.of_sources[entry];
      if (!allowed.contains(found)) times_.throw_unsorted(entry);
    }
  }

  // Asks for the times of a row that of() will be called with soon.
  template <typename Index>
  void request(std::span<const Index> stored, const Row& row) const {
    if (!task_.parts.empty()) return;
    constexpr int64_t kMostLines = 32, kMostSources = 256;  // the hardware sees the rest
    const auto request_lines = [&row](const auto* of_row) {
      constexpr int64_t kOfLine = 64 / int64_t{sizeof(*of_row)};
      const int64_t count = std::min(row.degree, kMostLines * kOfLine);
      for (int64_t x = 0; x < count; x += kOfLine)
        prefetch(of_row + x);
      if (count > 0) prefetch(of_row + count - 1);  // rows begin anywhere in a line
    };
    if (codes_ != nullptr) {
      request_lines(codes_->data() + row.begin);
    } else if (times_.of_edges != nullptr) {
      const int64_t* of_row = times_.of_edges + row.begin;
      if (!times_.sorted) return request_lines(of_row);
      for (int64_t quarter = 1; quarter < 4; ++quarter)  // where bisection looks first
        prefetch(of_row + row.degree / 4 * quarter);
    } else if (!times_.sorted) {
      for (int64_t x = 0; x < std::min(row.degree, kMostSources); ++x) {
        const auto source = static_cast<uint64_t>(stored[static_cast<size_t>(row.begin + x)]);
        if (source < static_cast<uint64_t>(task_.num_src_nodes))
          prefetch(times_.of_sources + source);
      }
    }
  }

 private:
  static constexpr int64_t kTogether = 4096;  // edges whose numbers are found at once
  static constexpr int64_t kGathered = 128;   // times of sources that are read at once

  template <typename Index>
  Edges in(std::span<const Index> stored,
           const Row& row,
           const TimeSpan& allowed,
           const CodeSpan& codes) {
    numbers_.resize(std::max(numbers_.size(), static_cast<size_t>(row.degree)));
    int64_t* last = numbers_.data();
    uint32_t* const found = found_.data();
    for (int64_t first = 0; first < row.degree; first += kTogether) {
      const Row some{row.begin + first, std::min(kTogether, row.degree - first)};
      const int64_t size = find(stored, some, allowed, codes, found);
      last = std::transform(found, found + size, last, [first](uint32_t x) { return first + x; });
    }
    return Edges(std::span<const int64_t>(numbers_.data(), last));
  }

  template <typename Index>
  int64_t find(std::span<const Index> stored,
               const Row& row,
               const TimeSpan& allowed,
               const CodeSpan& codes,
               uint32_t* found) const {
    uint32_t* last = found;
    if (allowed.is_empty()) return 0;
    for_each_run(row, task_.excluded_in(row), [&](int64_t begin, int64_t end) {
      const int64_t size = codes_ == nullptr
                               ? find_by_times(stored, begin, end - begin, allowed, last)
                               : find_by_codes(stored, begin, end - begin, allowed, codes, last);
      const auto first = static_cast<uint32_t>(begin - row.begin);
      if (first > 0) std::for_each_n(last, size, [first](uint32_t& x) { x += first; });
      last += size;
    });
    return last - found;
  }

  // Which of the `count` edges from `position` on have times in `allowed`; see within.h.
  template <typename Index>
  int64_t find_by_times(std::span<const Index> stored,
                        int64_t position,
                        int64_t count,
                        const TimeSpan& allowed,
                        uint32_t* found) const {
    const auto in = [&](const int64_t* times, int64_t size, uint32_t* out) {
      return within_(allowed.first, allowed.last, times, size, out);
    };
    if (times_.of_edges != nullptr) return in(times_.of_edges + position, count, found);
    int64_t gathered[kGathered];
    uint32_t* last = found;
    for (int64_t first = 0; first < count; first += kGathered) {
      const int64_t some = std::min(kGathered, count - first);
      with_time_at(stored, [&](const auto& time_at) {
        for (int64_t j = 0; j < some; ++j)
          gathered[j] = time_at(position + first + j);
      });
      const int64_t size = in(gathered, some, last);
      std::for_each_n(last, size, [first](uint32_t& x) { x += static_cast<uint32_t>(first); });
      last += size;
    }
    return last - found;
  }

  template <typename Index>
  int64_t find_by_codes(std::span<const Index> stored,
                        int64_t position,
                        int64_t count,
                        const TimeSpan& allowed,
                        const CodeSpan& span,
                        uint32_t* found) const {
    const uint16_t* codes = codes_->data() + position;
    const auto [first, last, cuts_first, cuts_last] = span;
    const auto any = [&](uint16_t code) { return within_.has16(code, codes, count); };
    const bool all_are = !(cuts_first && any(first)) && !(cuts_last && any(last));
    const int64_t size = within_(first, last, codes, count, found);
    if (all_are) return size;
    return with_time_at(stored, [&, first = first, last = last](const auto& time_at) {
      const auto is_not = [&](uint32_t x) {
        const bool at_end = codes[x] == first || codes[x] == last;
        return at_end && !allowed.contains(time_at(position + x));
      };
      return std::remove_if(found, found + size, is_not) - found;
    });
  }

  // Most often that of the row before, whose tree is the same.
  CodeSpan code_span(const TimeSpan& allowed) {
    if (codes_ != nullptr && !allowed.is_empty() && allowed != coded_) {
      coded_ = allowed;
      code_span_ = codes_->of(allowed);
    }
    return code_span_;
  }

  template <typename Index, typename Body>
  auto with_time_at(std::span<const Index> stored, Body&& body) const {
    if (times_.of_edges != nullptr) return body([&](int64_t p) { return times_.of_edges[p]; });
    return body([&](int64_t p) {
      const Index source = stored[static_cast<size_t>(p)];
      if (static_cast<uint64_t>(source) >= static_cast<uint64_t>(task_.num_src_nodes))
        throw_bad_source(task_.edges, p, source, task_.num_src_nodes);
      return times_.of_sources[source];
    });
  }

  template <typename TimeAt>
  static Row search(const Row& row, const TimeSpan& allowed, const TimeAt& time_at) {
    const auto first_where = [&](int64_t low, int64_t high, const auto& holds) {
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (holds(time_at(row.begin + middle))) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      return low;
    };
    const int64_t end =
        allowed.last == kLastTime
            ? row.degree
            : first_where(0, row.degree, [&](int64_t time) { return time > allowed.last; });
    const int64_t first = allowed.first == kFirstTime ? 0 : first_where(0, end, [&](int64_t time) {
      return time >= allowed.first;
    });
    return {row.begin + first, end - first};
  }

  const RelationTask<Id>& task_;
  const EdgeTimes& times_;
  const TimeCodes* codes_;  // nullptr: none yet
  TimeSpan coded_ = {0, -1};
  CodeSpan code_span_ = {};  // of coded_
  Within within_ = best_kernels().within;
  std::vector<int64_t> numbers_;
  std::vector<uint32_t> found_ = std::vector<uint32_t>(kTogether + kWithinPadding);
};

// A rule that draws from EdgesInTime, and the check of what it drew from sorted rows.
template <typename Id, typename Rule>
class RuleInTime {
 public:
  RuleInTime(const RelationTask<Id>& task, Rule rule)
      : task_(task), edges_(task), needs_check_(edges_.need_check()), rule_(std::move(rule)) {}

  template <typename Index, typename Picks>
  void operator()(std::span<const Index> stored, const Row& row, size_t i, Picks& picks) {
    const int64_t before = picks.size();
    rule_(stored, row, i, picks);
    if (!needs_check_) return;
    if (edges_.reads_sources()) picks.read_sources(task_, stored);
    edges_.check(i, picks.size() - before, picks);
  }

  // Besides those of the picks.
  [[nodiscard]] bool reads_sources() const {
    if constexpr (requires { rule_.reads_sources(); })
      return rule_.reads_sources() || edges_.reads_sources();
    return true;
  }

  template <typename Index>
  void request(std::span<const Index> stored, const Row& row) const {
    edges_.request(stored, row);
  }

 private:
  const RelationTask<Id>& task_;
  EdgesInTime<Id> edges_;
  const bool needs_check_;
  Rule rule_;
};

// EdgeScan::sample() for a task with times. make_rule(EdgesInTime) gives a rule that draws from
// them.
template <typename Id, typename MakeRule>
Relation scan_edges_in_time(const RelationTask<Id>& task,
                            ScanScratch<Id>& scratch,
                            BufferPool& pool,
                            int threads,
                            const MakeRule& make_rule) {
  return scan_edges(task, scratch, pool, threads, false, [&] {
    auto rule = make_rule(EdgesInTime<Id>(task));
    return RuleInTime<Id, decltype(rule)>(task, std::move(rule));
  });
}

}  // namespace ramet
