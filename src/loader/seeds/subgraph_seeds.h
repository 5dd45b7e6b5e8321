// SubgraphSeeds: the nodes that the items of a plan stand for where batches are subgraphs. All of
// them are seeds. Immutable; any thread may read it.
#pragma once

#include <memory>

#include "ramet/subgraphs.h"
#include "seed_source.h"

namespace ramet {

class SubgraphSeeds final : public SeedSource {
 public:
  explicit SubgraphSeeds(std::shared_ptr<const Subgraphs> subgraphs);

  [[nodiscard]] int64_t num_items() const override { return subgraphs_->num_items(); }
  [[nodiscard]] SeedList take(Batch& batch, const DrawNegatives& draw) const override;

 private:
  std::shared_ptr<const Subgraphs> subgraphs_;
};

}  // namespace ramet
