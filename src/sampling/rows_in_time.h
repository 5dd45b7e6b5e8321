// The part of each row that the time of its tree allows, where rows are sorted by time. A sampler
// then draws from these parts as from whole rows. docs/semantics.md, section 16.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relation_builder.h"
#include "rows.h"

namespace ramet {

// `rows` are those of the destinations from `first` on. Each becomes its allowed part, and with
// Strategy::kLast the end of that part where the picks are. The store may lie: what is picked has
// to be checked, unless the order of rows is known (sorted_times.h).
void narrow_to_times(const RelationRows& task, int64_t first, std::span<Row> rows);

// RelationRows::parts, for a sampler that looks at whole rows: where these are sorted by the times
// of edges, all are searched side by side, which is faster than one by one. Else nothing.
[[nodiscard]] std::span<const Row> find_parts(const RelationRows& task,
                                              std::vector<Row>& parts,
                                              int threads);

}  // namespace ramet
