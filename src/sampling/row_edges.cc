#include "row_edges.h"

#include "base/first_where.h"
#include "base/prefetch.h"

namespace ramet {
namespace {

constexpr int64_t kGathered = 128;  // times of sources that are read at once

template <typename TimeAt>
Row search(const Row& row, const TimeSpan& allowed, const TimeAt& time_at) {
  const auto time = [&](int64_t x) { return time_at(row.begin + x); };
  const int64_t end =
      allowed.last == kLastTime
          ? row.degree
          : first_where(0, row.degree, [&](int64_t x) { return time(x) > allowed.last; });
  const int64_t first = allowed.first == kFirstTime ? 0 : first_where(0, end, [&](int64_t x) {
    return time(x) >= allowed.first;
  });
  return {row.begin + first, end - first};
}

}  // namespace

// Calls body with what reads the time of the edge at a position.
template <typename Body>
auto RowEdges::with_time_at(Body&& body) const {
  if (times_->of_edges != nullptr) return body([&](int64_t p) { return times_->of_edges[p]; });
  return sources_.with([&](auto sources) {
    return body([&, sources](int64_t p) {
      const int64_t source = sources[static_cast<size_t>(p)];
      if (static_cast<uint64_t>(source) >= static_cast<uint64_t>(task_.num_src_nodes))
        throw_bad_source(task_.edges, p, source, task_.num_src_nodes);
      return times_->of_sources[source];
    });
  });
}

EdgeNumbers RowEdges::of_time(const Row& row, size_t i) {
  const TimeSpan allowed = task_.allowed[i];
  if (times_->sorted || allowed.is_empty()) return remaining(row, part(row, i));
  return in(row, allowed);
}

Row RowEdges::part(const Row& row, size_t i) const {
  if (!task_.parts.empty()) return task_.parts[i];
  const TimeSpan allowed = task_.allowed[i];
  if (allowed.is_empty()) return {row.begin, 0};
  return with_time_at([&](const auto& time_at) { return search(row, allowed, time_at); });
}

int64_t RowEdges::time(int64_t position) const {
  return with_time_at([&](const auto& time_at) { return time_at(position); });
}

void RowEdges::request_times(const Row& row) const {
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
  } else if (times_->of_edges != nullptr) {
    const int64_t* of_row = times_->of_edges + row.begin;
    if (!times_->sorted) return request_lines(of_row);
    for (int64_t quarter = 1; quarter < 4; ++quarter)  // where bisection looks first
      prefetch(of_row + row.degree / 4 * quarter);
  } else if (!times_->sorted) {
    for (int64_t x = 0; x < std::min(row.degree, kMostSources); ++x) {
      const int64_t source = sources_[static_cast<size_t>(row.begin + x)];
      if (static_cast<uint64_t>(source) < static_cast<uint64_t>(task_.num_src_nodes))
        prefetch(times_->of_sources + source);
    }
  }
}

EdgeNumbers RowEdges::in(const Row& row, const TimeSpan& allowed) {
  const CodeSpan codes = code_span(allowed);
  numbers_.resize(std::max(numbers_.size(), static_cast<size_t>(row.degree)));
  found_.resize(static_cast<size_t>(kTogether + kWithinPadding));
  int64_t* last = numbers_.data();
  uint32_t* const found = found_.data();
  for (int64_t first = 0; first < row.degree; first += kTogether) {
    const Row some{row.begin + first, std::min(kTogether, row.degree - first)};
    const int64_t size = find(some, allowed, codes, found);
    last = std::transform(found, found + size, last, [first](uint32_t x) { return first + x; });
  }
  return EdgeNumbers(std::span<const int64_t>(numbers_.data(), last));
}

int64_t RowEdges::find(const Row& row,
                       const TimeSpan& allowed,
                       const CodeSpan& codes,
                       uint32_t* found) const {
  uint32_t* last = found;
  if (allowed.is_empty()) return 0;
  for_each_run(row, task_.excluded_in(row), [&](int64_t begin, int64_t end) {
    const int64_t size = codes_ == nullptr
                             ? find_by_times(begin, end - begin, allowed, last)
                             : find_by_codes(begin, end - begin, allowed, codes, last);
    const auto first = static_cast<uint32_t>(begin - row.begin);
    if (first > 0) std::for_each_n(last, size, [first](uint32_t& x) { x += first; });
    last += size;
  });
  return last - found;
}

// Which of the `count` edges from `position` on have times in `allowed`; see within.h.
int64_t RowEdges::find_by_times(int64_t position,
                                int64_t count,
                                const TimeSpan& allowed,
                                uint32_t* found) const {
  const auto in = [&](const int64_t* times, int64_t size, uint32_t* out) {
    return within_.of64(allowed.first, allowed.last, times, size, out);
  };
  if (times_->of_edges != nullptr) return in(times_->of_edges + position, count, found);
  int64_t gathered[kGathered];
  uint32_t* last = found;
  for (int64_t first = 0; first < count; first += kGathered) {
    const int64_t some = std::min(kGathered, count - first);
    with_time_at([&](const auto& time_at) {
      for (int64_t j = 0; j < some; ++j)
        gathered[j] = time_at(position + first + j);
    });
    const int64_t size = in(gathered, some, last);
    std::for_each_n(last, size, [first](uint32_t& x) { x += static_cast<uint32_t>(first); });
    last += size;
  }
  return last - found;
}

int64_t RowEdges::find_by_codes(int64_t position,
                                int64_t count,
                                const TimeSpan& allowed,
                                const CodeSpan& span,
                                uint32_t* found) const {
  const uint16_t* codes = codes_->data() + position;
  const auto [first, last, cuts_first, cuts_last] = span;
  const auto [size, any_at_ends] = within_.of16(first, last, codes, count, found);
  if (!any_at_ends || !(cuts_first || cuts_last)) return size;
  const auto is_not = [&, first = first, last = last](uint32_t x) {
    const bool at_end = codes[x] == first || codes[x] == last;
    return at_end && !allowed.contains(time(position + x));
  };
  return std::remove_if(found, found + size, is_not) - found;
}

// Most often that of the row before, whose tree is the same.
CodeSpan RowEdges::code_span(const TimeSpan& allowed) {
  if (codes_ != nullptr && !allowed.is_empty() && allowed != coded_) {
    coded_ = allowed;
    code_span_ = codes_->of(allowed);
  }
  return code_span_;
}

}  // namespace ramet
