// CooperativeLoader: the batches of a NeighborLoader, each made by several ranks together: a rank's
// seeds, nodes and rows are those that it owns. Every rank runs the same number of exchanges, in
// the same order, also one that owns nothing: docs/semantics.md, section 10.
//
// The NeighborLoader says which seeds form which batch; its rank and world are those of the group
// among groups that work data-parallel. Batches are made one after the other by one thread, whoever
// moves the messages; reading of rows can be left to another. Memory, failure: as
// CooperativeSampler and NeighborLoader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ramet/exchange.h"
#include "ramet/loader.h"
#include "ramet/ownership.h"

namespace ramet {

class CooperativeSampler;
class RowSource;

class CooperativeLoader {
 public:
  // `cache_rows`: rows of tables, at most so many of each, that are kept from batch to batch.
  CooperativeLoader(NeighborLoader loader,
                    Membership membership,
                    int threads = 1,
                    int64_t cache_rows = 0);
  ~CooperativeLoader();

  // Begins the batch of a step; as CooperativeSampler::start() and receive().
  [[nodiscard]] std::optional<Message> start(int64_t epoch, int64_t step);
  [[nodiscard]] std::optional<Message> receive(const Message& from_ranks);
  // The batch, its rows gathered.
  [[nodiscard]] Batch finish();

  // Counts a batch that was handed out, for which the caller waited so long, to the summary.
  void count(Batch& batch, double wait_seconds, bool first) const;

  [[nodiscard]] const NeighborLoader& loader() const { return loader_; }
  [[nodiscard]] const Membership& membership() const { return membership_; }

 private:
  NeighborLoader loader_;
  Membership membership_;
  std::unique_ptr<CooperativeSampler> sampler_;
  std::vector<std::shared_ptr<const RowSource>> sources_;  // by LoaderOptions::tables
  Batch batch_;
};

}  // namespace ramet
