#include "rows_in_time.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/sorted_search.h"
#include "row_edges.h"
#include "sorted_times.h"

namespace ramet {
namespace {

// By edge times: all rows are searched side by side.
void narrow_by_edges(const RelationRows& task, int64_t first, std::span<Row> rows) {
  const Array times =
      borrow(std::span(task.times->of_edges, static_cast<size_t>(task.edges.num_edges())));
  const SortedTimes* const order = known_order(*task.times);
  const TimeSpan range = order == nullptr ? TimeSpan{0, 0} : order->of_all;
  std::vector<SortedSearch> searches(rows.size());
  const auto search = [&](const auto& bound_of) {
    for (size_t i = 0; i < rows.size(); ++i)
      searches[i] = bound_of(rows[i], task.allowed[static_cast<size_t>(first) + i]);
    search_sorted(times, {range.first, range.last}, searches);
  };
  search([](const Row& row, const TimeSpan& allowed) -> SortedSearch {
    const int64_t end = row.begin + row.degree;
    if (allowed.last == kLastTime) return {end, end, 0};
    return {row.begin, end, allowed.last + 1};
  });
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].degree = searches[i].begin - rows[i].begin;
  search([](const Row& row, const TimeSpan& allowed) -> SortedSearch {
    if (allowed.first == kFirstTime) return {row.begin, row.begin, 0};
    return {row.begin, row.begin + row.degree, allowed.first};
  });
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = {searches[i].begin, rows[i].begin + rows[i].degree - searches[i].begin};
}

void narrow_by_sources(const RelationRows& task, int64_t first, std::span<Row> rows) {
  const RowEdges edges(task);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = edges.part(rows[i], static_cast<size_t>(first) + i);
}

// Leaves the last `count` edges that are not excluded.
Row last_edges(const RelationRows& task, const Row& row, int64_t count) {
  const RemainingNumbers numbers(row, task.excluded_in(row));
  if (numbers.size() <= count) return row;
  const int64_t before = numbers[numbers.size() - count];
  return {row.begin + before, row.degree - before};
}

}  // namespace

void narrow_to_times(const RelationRows& task, int64_t first, std::span<Row> rows) {
  if (task.times->of_edges != nullptr) {
    narrow_by_edges(task, first, rows);
  } else {
    narrow_by_sources(task, first, rows);
  }
  if (task.times->rule.strategy != Strategy::kLast || task.fanout == kAllNeighbors) return;
  for (Row& row : rows)
    row = last_edges(task, row, task.fanout);
}

std::span<const Row> find_parts(const RelationRows& task, std::vector<Row>& parts, int threads) {
  constexpr int64_t kGrain = 4096;
  const EdgeTimes* times = task.times;
  if (times == nullptr || !times->sorted || times->of_edges == nullptr || task.fanout == 0)
    return {};
  parts.resize(std::max(parts.size(), static_cast<size_t>(task.num_dst())));
  const auto rows = std::span(parts).first(static_cast<size_t>(task.num_dst()));
  parallel_for(task.num_dst(), kGrain, threads, [&](int64_t begin, int64_t end) {
    const auto some = rows.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    for_each_dst_row(task, begin, end, [&](int64_t i, const Row& row) {
      some[static_cast<size_t>(i - begin)] = row;
    });
    narrow_by_edges(task, begin, some);
  });
  return rows;
}

}  // namespace ramet
