// RowEdges: which in-edges of a row the rules of an EdgeScan draw from: those that are not
// excluded, and that the time of the row's tree allows. docs/semantics.md, sections 16 and 24.
//
// Rows that the store says are sorted by time are searched. The store may be wrong: EdgeScan checks
// what was drawn from such a row, until all rows were found to be sorted (sorted_times.h). So
// nothing comes from the future. Of other rows, every edge's time is read, or its code
// (time_codes.h), once there are any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "edge_times.h"
#include "excluded_edges.h"
#include "kernels/cpu/isa_kernels.h"
#include "relation_builder.h"
#include "rows.h"
#include "time_codes.h"

namespace ramet {

// Numbers of edges in their row, ascending.
class EdgeNumbers {
 public:
  // What remains of a part of the row that begins at number `first`.
  EdgeNumbers(int64_t first, const Row& part, std::span<const int64_t> excluded)
      : first_(first), part_(part, excluded) {}
  explicit EdgeNumbers(std::span<const int64_t> numbers)
      : numbers_(numbers.data()), part_({0, std::ssize(numbers)}, {}) {}

  [[nodiscard]] int64_t size() const { return part_.size(); }
  // What remains of a part of the row; nullptr where numbers are listed.
  [[nodiscard]] const RemainingNumbers* part() const {
    return numbers_ == nullptr ? &part_ : nullptr;
  }
  int64_t operator[](int64_t j) const {
    return numbers_ == nullptr ? first_ + part_[j] : numbers_[j];
  }
  // Whether `count` of them, from the j-th on, follow each other.
  [[nodiscard]] bool are_side_by_side(int64_t j, int64_t count) const {
    return (*this)[j + count - 1] - (*this)[j] == count - 1;
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
    if (numbers_ != nullptr) {
      std::for_each_n(numbers_, size(), body);
    } else {
      part_.for_each([&body, first = first_](int64_t j) { body(first + j); });
    }
  }

 private:
  const int64_t* numbers_ = nullptr;
  int64_t first_ = 0;
  RemainingNumbers part_;
};

// Of one thread. Numbers are good until the next call that gives some.
class RowEdges {
 public:
  explicit RowEdges(const RelationRows& task)
      : task_(task),
        times_(task.times),
        codes_(times_ == nullptr || times_->codes == nullptr ? nullptr
                                                             : times_->codes->get<TimeCodes>()),
        sources_(task.edges.indices) {}

  [[nodiscard]] bool have_times() const { return times_ != nullptr; }
  // To find the edges.
  [[nodiscard]] bool reads_sources() const {
    return have_times() && times_->of_edges == nullptr && codes_ == nullptr;
  }

  // Of destination i, whose row it is.
  EdgeNumbers of(const Row& row, size_t i) {
    return have_times() ? of_time(row, i) : remaining(row, row);
  }
  // Asks for the first of the times of a row that request() will be called with soon.
  void touch(const Row& row) const {
    if (!have_times() || !task_.parts.empty()) return;
    if (codes_ != nullptr) return prefetch(codes_->data() + row.begin);
    if (times_->of_edges != nullptr) prefetch(times_->of_edges + row.begin);
  }
  // Asks for the times of a row that of() will be called with soon.
  void request(const Row& row) const {
    if (have_times() && task_.parts.empty()) request_times(row);
  }

  // What follows is for tasks with times.

  // The edges of a row in no order whose times are in `allowed`.
  EdgeNumbers in(const Row& row, const TimeSpan& allowed);
  // The edges of in(), of a row of fewer than 2^32. Writes their numbers to `found`, which has room
  // for those of the row and kWithinPadding; returns how many there are.
  int64_t find(const Row& row, const TimeSpan& allowed, uint32_t* found) {
    return find(row, allowed, code_span(allowed), found);
  }
  // Of sorted rows: all of the allowed edges, also the excluded ones.
  [[nodiscard]] Row part(const Row& row, size_t i) const;

  [[nodiscard]] int64_t time(int64_t position) const;

 private:
  static constexpr int64_t kTogether = 4096;  // edges whose numbers are found at once

  [[nodiscard]] EdgeNumbers remaining(const Row& row, const Row& part) const {
    return {part.begin - row.begin, part, task_.excluded_in(part)};
  }
  EdgeNumbers of_time(const Row& row, size_t i);
  int64_t find(const Row& row,
               const TimeSpan& allowed,
               const CodeSpan& codes,
               uint32_t* found) const;
  int64_t find_by_times(int64_t position,
                        int64_t count,
                        const TimeSpan& allowed,
                        uint32_t* found) const;
  int64_t find_by_codes(int64_t position,
                        int64_t count,
                        const TimeSpan& allowed,
                        const CodeSpan& span,
                        uint32_t* found) const;
  CodeSpan code_span(const TimeSpan& allowed);
  void request_times(const Row& row) const;
  template <typename Body>
  auto with_time_at(Body&& body) const;

  const RelationRows& task_;
  const EdgeTimes* times_;
  const TimeCodes* codes_;  // nullptr: none yet
  IdSpan sources_;
  TimeSpan coded_ = {0, -1};
  CodeSpan code_span_ = {};  // of coded_
  Within within_ = best_kernels().within;
  std::vector<int64_t> numbers_;
  std::vector<uint32_t> found_;
};

}  // namespace ramet
