#include "budget_hops.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ramet/store.h"
#include "sampling/excluded_edges.h"

namespace ramet {
namespace {

template <typename To, typename From>
void copy_to(const Array& array, const std::vector<From>& values) {
  std::transform(values.begin(), values.end(), static_cast<To*>(array.data),
                 [](From value) { return static_cast<To>(value); });
}

}  // namespace

template <typename Id>
BudgetHops<Id>::BudgetHops(HopOptions options, const HopDriver& driver)
    : options_(std::move(options)), graph_(*options_.graph), driver_(driver) {
  for (const NodeType& type : graph_.node_types())
    type_hash_.push_back(hash_name(encode_name(type.name)));
  prepare(nodes_);
}

template <typename Id>
void BudgetHops<Id>::prepare(CandidatesByType<Id>& candidates) const {
  std::vector<NodeRange> ranges;
  for (const NodeType& type : graph_.node_types())
    ranges.push_back({0, type.num_nodes});
  const int64_t limit = direct_table_limit(graph_, ranges);
  candidates.resize(ranges.size());
  for (size_t t = 0; t < ranges.size(); ++t)
    candidates[t].prepare(limit, ranges[t]);
}

template <typename Id>
void BudgetHops<Id>::exclude(std::span<const ExcludedEdges> excluded) {
  excluded_ = excluded_by_type(graph_, excluded);
}

template <typename Id>
void BudgetHops<Id>::start() {
  for (size_t t = 0; t < nodes_.size(); ++t)
    nodes_[t].start_batch(driver_.seeds(t));
  ends_.assign(1, sizes());
}

template <typename Id>
size_t BudgetHops<Id>::num_hops() const {
  const auto& budgets = options_.sample.fanouts;
  return budgets.empty() ? 0 : budgets.front().size();
}

template <typename Id>
std::vector<int64_t> BudgetHops<Id>::sizes() const {
  std::vector<int64_t> result;
  for (const auto& of_type : nodes_)
    result.push_back(std::ssize(of_type.nodes()));
  return result;
}

template <typename Id>
void BudgetHops<Id>::share(CandidatesByType<Id>& among) {
  constexpr uint64_t kOne = uint64_t{1} << 44;
  for (size_t edge_type = 0; edge_type < graph_.edge_types().size(); ++edge_type) {
    const EdgeType& edges = graph_.edge_types()[edge_type];
    const auto dst = static_cast<size_t>(edges.dst);
    const ListRange destinations = appended(hop(), dst);
    const auto first = static_cast<size_t>(destinations.begin);
    Candidates<Id>& sources = among[static_cast<size_t>(edges.src)];
    const auto add = [&](std::span<const RowPiece> pieces, std::span<const Id> ids) {
      shares_.clear();
      for (const RowPiece& piece : pieces) {
        const bool repeats = nodes_[dst].repeats(first + static_cast<size_t>(piece.node));
        shares_.insert(shares_.end(), static_cast<size_t>(piece.count),
                       repeats ? 0 : kOne / static_cast<uint64_t>(piece.degree));
      }
      sources.add_shares(ids, shares_);
    };
    for_each_source(edge_type, destinations.of(nodes_[dst].nodes()), add);
  }
}

template <typename Id>
int64_t BudgetHops<Id>::budget(size_t type) const {
  return options_.sample.fanouts[type][hop()];
}

template <typename Id>
std::span<const DrawnNode<Id>> BudgetHops<Id>::draw(size_t type) {
  return nodes_[type].draw(hop_keys(driver_.step_keys(), hop(), type_hash_[type]), budget(type));
}

template <typename Id>
Block BudgetHops<Id>::edges(size_t hop) {
  Block block;
  std::vector<ListRange> destinations;
  for (size_t t = 0; t < nodes_.size(); ++t)
    destinations.push_back(appended(hop, t));
  set_destinations(block, destinations);
  for (size_t t = 0; t < graph_.edge_types().size(); ++t)
    block.relations.push_back(
        edges_into(t, destinations[static_cast<size_t>(graph_.edge_types()[t].dst)]));
  block.num_src = ends_[std::min(hop + 1, num_hops())];
  return block;
}

template <typename Id>
Relation BudgetHops<Id>::edges_into(size_t edge_type, const ListRange& destinations) {
  const EdgeType& edges = graph_.edge_types()[edge_type];
  BufferPool& pool = *options_.pool;
  Relation relation{.edge_type = static_cast<int>(edge_type),
                    .indptr = pool.allocate_array(DType::kInt64, {destinations.size() + 1}),
                    .indices = {},
                    .position = {},
                    .edge_weight = {}};
  auto* const indptr = static_cast<int64_t*>(relation.indptr.data);
  std::fill_n(indptr, destinations.size() + 1, 0);
  sources_.clear();
  positions_.clear();
  const auto keep = [&](std::span<const RowPiece> pieces, std::span<const Id> ids) {
    position_.resize(ids.size());
    nodes_[static_cast<size_t>(edges.src)].find(ids, position_.data());
    auto position = position_.begin();
    for (const RowPiece& piece : pieces) {
      for (int64_t p = piece.begin; p < piece.begin + piece.count; ++p, ++position) {
        if (*position == Candidates<Id>::kNowhere) continue;
        sources_.push_back(*position);
        positions_.push_back(p);
        ++indptr[piece.node + 1];
      }
    }
  };
  const auto nodes = destinations.of(nodes_[static_cast<size_t>(edges.dst)].nodes());
  for_each_source(edge_type, nodes, keep);
  for (int64_t i = 0; i < destinations.size(); ++i)
    indptr[i + 1] += indptr[i];
  const bool narrow = edges.num_edges() <= std::numeric_limits<int32_t>::max();
  const int64_t count = std::ssize(sources_);
  relation.indices = pool.allocate_array(DType::kInt32, {count});
  copy_to<int32_t>(relation.indices, sources_);
  relation.position = pool.allocate_array(narrow ? DType::kInt32 : DType::kInt64, {count});
  with_mutable_ids(relation.position, [&](auto* out) {
    copy_to<std::remove_pointer_t<decltype(out)>>(relation.position, positions_);
  });
  return relation;
}

template class BudgetHops<int32_t>;
template class BudgetHops<int64_t>;

}  // namespace ramet
