// CooperativeSampler: one rank's part of a minibatch that several ranks sample together. Every node
// is sampled, and its rows read, once. Ranks own nodes (ownership.h). Each rank samples the
// in-edges of its own destinations and sends the sources to their owners, where they are
// destinations of the next hop. The edges are those that one process would sample. (Balin, LaSalle,
// Catalyurek: "Cooperative Minibatching in Graph Neural Networks", arXiv 2310.12403.)
// docs/semantics.md, section 10.
//
// The sampler computes; the caller moves bytes. A Message has bytes for every rank; the next call
// takes the Message of what every rank sent. All ranks run the same number of exchanges in the same
// order, also ranks that own nothing.
//
//     for (auto out = sampler.start(...); out; out = sampler.receive(in)) in = all_to_all(*out);
//     Minibatch minibatch = sampler.take();
//
// Disjoint trees are the seeds of rank 0, those of rank 1, and so on, type after type of each.
//
// Memory: keeps scratch memory from minibatch to minibatch. One thread at a time. Failure: as
// NeighborSampler. Invalid bytes from a peer are kCorrupt and name the rank. After an error, begin
// again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/exchange.h"
#include "ramet/graph.h"
#include "ramet/ownership.h"
#include "ramet/row_order.h"
#include "ramet/sampler.h"

namespace ramet {

// Throws kInvalidArgument unless `membership` covers `graph`.
void check(const Membership& membership, const Graph& graph);

// The device that draws; graph: nullptr where processors do. Messages of a hop's sources may be in
// its memory. What arrives for a message is where that was.
struct DrawingDevice {
  std::shared_ptr<const CudaGraph> graph = nullptr;
  std::shared_ptr<DevicePool> pool = nullptr;
  RowOrder order = RowOrder::kAuto;
};

class CooperativeSampler {
 public:
  // `pool`: page-locked where there is a device, whose minibatches have relations in its memory.
  CooperativeSampler(const std::shared_ptr<const Graph>& graph,
                     SampleOptions options,
                     Membership membership,
                     std::shared_ptr<BufferPool> pool = nullptr,
                     int threads = 1,
                     const DrawingDevice& device = {});
  ~CooperativeSampler();

  // Begins the minibatch of `seeds`, which this rank owns, in any order, repeats allowed; of the
  // same node types on every rank. start() and receive() return the message to send now, or nullopt
  // when the minibatch is complete. `excluded`: as of NeighborSampler; those whose destinations
  // others own may be among them.
  [[nodiscard]] std::optional<Message> start(std::span<const Seeds> seeds,
                                             uint64_t epoch,
                                             uint64_t step,
                                             std::span<const ExcludedEdges> excluded = {});
  // The same of seeds of any owner, each once; disjoint, all are roots of trees. The seeds of the
  // minibatch are then those that ranks ask this one for, each once, and Minibatch::seed_exchange
  // brings the rows of `seeds`, by owner.
  [[nodiscard]] Message ask(std::span<const Seeds> seeds,
                            uint64_t epoch,
                            uint64_t step,
                            std::span<const ExcludedEdges> excluded = {});
  // Of each seed of a type that ask() was given, the number of its row there. Of the minibatch that
  // was begun last.
  [[nodiscard]] std::span<const int32_t> positions_of_seeds(int type) const;
  [[nodiscard]] std::optional<Message> receive(const Message& from_ranks);

  // The minibatch, once it is complete: n_id are nodes of this rank; Block::exchange, with
  // Expand::kOnce Minibatch::merged_exchange, says which rows come from where.
  [[nodiscard]] Minibatch take();

 private:
  class Engine;
  template <typename Id>
  class EngineFor;

  std::unique_ptr<Engine> engine_;
};

}  // namespace ramet
