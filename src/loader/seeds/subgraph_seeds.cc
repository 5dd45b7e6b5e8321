#include "subgraph_seeds.h"

#include <utility>

namespace ramet {

SubgraphSeeds::SubgraphSeeds(std::shared_ptr<const Subgraphs> subgraphs)
    : subgraphs_(std::move(subgraphs)) {}

SeedList SubgraphSeeds::take(Batch& batch, const DrawNegatives& /*draw*/) const {
  SeedList seeds;
  const auto epoch = static_cast<uint64_t>(batch.epoch);
  for (std::vector<int64_t>& ids : subgraphs_->nodes(batch.input_id.as<int64_t>(), epoch))
    seeds.types.push_back({.type = static_cast<int>(seeds.types.size()), .ids = std::move(ids)});
  return seeds;
}

}  // namespace ramet
