#include "excluded_edges.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ramet/error.h"

namespace ramet {
namespace {

void check(const EdgeType& edges, std::span<const int64_t> positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t position = positions[i];
    if (static_cast<uint64_t>(position) >= static_cast<uint64_t>(edges.num_edges()))
      throw_error(ErrorCode::kOutOfRange, "excluded[", i, "] = ", position, " is outside [0, ",
                  edges.num_edges(), ") of edge type '", edges.encoded, "'");
    if (i > 0 && position <= positions[i - 1])
      throw_invalid("excluded[", i, "] = ", position, " of edge type '", edges.encoded,
                    "' follows ", positions[i - 1], ": positions ascend, each once");
  }
}

}  // namespace

ExcludedPositions::ExcludedPositions(const EdgeType& edges, std::span<const int64_t> positions)
    : positions_(positions.begin(), positions.end()) {
  check(edges, positions_);
  // So many blocks that few have an excluded edge, and so few that they stay in a fast cache.
  const auto num_edges = static_cast<size_t>(edges.num_edges());
  shift_ = static_cast<int>(std::bit_width(num_edges / (8 * positions_.size() + 1)));
  before_block_.assign((num_edges >> shift_) + 2, 0);
  for (const int64_t position : positions_)
    ++before_block_[static_cast<size_t>(position >> shift_) + 1];
  std::partial_sum(before_block_.begin(), before_block_.end(), before_block_.begin());
  positions_.push_back(kEnd);
}

const int64_t* ExcludedPositions::first_from(int64_t position) const {
  const auto block = static_cast<size_t>(position >> shift_);
  const int64_t* const all = positions_.data();
  return std::lower_bound(all + before_block_[block], all + before_block_[block + 1], position);
}

std::vector<ExcludedPositions> excluded_by_type(const Graph& graph,
                                                std::span<const ExcludedEdges> excluded) {
  if (excluded.empty()) return {};
  const auto& types = graph.edge_types();
  std::vector<ExcludedPositions> by_type(types.size());
  for (const auto& [edge_type, positions] : excluded) {
    require_index(edge_type, std::ssize(types), "edge type of excluded edges");
    const auto type = static_cast<size_t>(edge_type);
    if (!by_type[type].empty())
      throw_invalid("excluded edges name edge type '", types[type].encoded,
                    "' twice, expected each type once");
    by_type[type] = ExcludedPositions(types[type], positions);
  }
  return by_type;
}

void RemainingNumbers::find_run(int64_t j) const {
  // The i-th excluded edge has i fewer edges before it that remain than edges.
  const int64_t* const first = excluded_.data();
  const auto remain_before = [&](const int64_t& position) {
    return position - row_.begin - (&position - first);
  };
  const int64_t* const end = first + excluded_.size();
  const int64_t* const next = std::partition_point(
      first, end, [&](const int64_t& position) { return remain_before(position) <= j; });
  before_ = next - first;
  begin_ = next == first ? 0 : remain_before(next[-1]);
  end_ = next == end ? size() : remain_before(*next);
}

}  // namespace ramet
