#include "node_seeds.h"

#include <span>

namespace ramet {
namespace {

SeedList::OfType seeds_at(const InputNodes& nodes, std::span<const int64_t> positions) {
  SeedList::OfType seeds{.type = nodes.node_type};
  const bool all = nodes.ids.data == nullptr;
  seeds.ids = all ? std::vector(positions.begin(), positions.end()) : rows_at(nodes.ids, positions);
  if (nodes.times.data != nullptr) seeds.times = rows_at(nodes.times, positions);
  return seeds;
}

}  // namespace

NodeSeeds::NodeSeeds(const std::vector<InputNodes>& inputs, const Graph& graph) {
  for (const InputNodes& nodes : inputs) {
    inputs_.push_back({nodes, num_items_, ramet::num_items(nodes, graph)});
    num_items_ += inputs_.back().num_items;
  }
}

SeedList NodeSeeds::take(Batch& batch, const DrawNegatives& /*draw*/) const {
  const std::span<int64_t> items = mutable_items(batch);
  const std::vector<int64_t> all(items.begin(), items.end());
  SeedList seeds;
  auto end = items.begin();
  for (const auto& [nodes, first_item, num_items] : inputs_) {
    const auto begin = end;
    for (const int64_t item : all) {
      const int64_t position = item - first_item;
      if (0 <= position && position < num_items) *end++ = position;
    }
    seeds.types.push_back(seeds_at(nodes, {begin, end}));
  }
  return seeds;
}

int64_t num_items(const InputNodes& nodes, const Graph& graph) {
  const NodeType& type = graph.node_types()[static_cast<size_t>(nodes.node_type)];
  return nodes.ids.data == nullptr ? type.num_nodes : nodes.ids.rows();
}

}  // namespace ramet
