// CooperativeSampler: one rank's part of a minibatch that several ranks sample together, so that
// every node is sampled, and its rows read, once. Ranks own nodes (ownership.h); each samples the
// in-edges of the destinations it owns and sends the sources it found to their owners, who have
// them as destinations of the next hop. The edges are those that one process would sample.
// (Balin, LaSalle, Catalyurek: "Cooperative Minibatching in Graph Neural Networks", arXiv
// 2310.12403.) docs/semantics.md, section 10.
//
// The sampler computes; whoever drives it moves bytes, by whatever means: a Message has bytes for
// every rank, and the next step takes the Message of what came from every rank. All ranks run the
// same number of exchanges, in the same order, also those that own nothing.
//
//     for (auto out = sampler.start(...); out; out = sampler.receive(in)) in = all_to_all(*out);
//     Minibatch minibatch = sampler.take();
//
// Memory: keeps scratch memory from minibatch to minibatch. One thread at a time.
// Failure: as NeighborSampler; bytes from a peer that make no sense are kCorrupt and name the rank.
// After an error start() begins anew.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/exchange.h"
#include "ramet/graph.h"
#include "ramet/ownership.h"
#include "ramet/sampler.h"

namespace ramet {

// Throws kInvalidArgument unless `membership` covers `graph`.
void check(const Membership& membership, const Graph& graph);

class CooperativeSampler {
 public:
  CooperativeSampler(const std::shared_ptr<const Graph>& graph,
                     SampleOptions options,
                     Membership membership,
                     std::shared_ptr<BufferPool> pool = nullptr,
                     int threads = 1);
  ~CooperativeSampler();

  // Begins the minibatch of `seeds`, which this rank owns, in any order, repeats allowed. Each of
  // the two returns what is to be sent now, or nullopt when the minibatch is complete.
  [[nodiscard]] std::optional<Message> start(int seed_type,
                                             std::span<const int64_t> seeds,
                                             uint64_t epoch,
                                             uint64_t step);
  [[nodiscard]] std::optional<Message> receive(const Message& from_ranks);

  // The minibatch, once it is complete: n_id are nodes of this rank; Block::exchange says which
  // rows come from where.
  [[nodiscard]] Minibatch take();

 private:
  class Engine;
  template <typename Id>
  class EngineFor;

  std::unique_ptr<Engine> engine_;
};

}  // namespace ramet
