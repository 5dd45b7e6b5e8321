// The steps of a CooperativeSampler, whatever the width of ids.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sampling/cooperative_sampler.h"

namespace ramet {

class CooperativeSampler::Engine {
 public:
  virtual ~Engine() = default;
  virtual std::optional<Message> start(std::span<const Seeds> seeds,
                                       uint64_t epoch,
                                       uint64_t step,
                                       std::span<const ExcludedEdges> excluded) = 0;
  virtual Message ask(std::span<const Seeds> seeds,
                      uint64_t epoch,
                      uint64_t step,
                      std::span<const ExcludedEdges> excluded) = 0;
  [[nodiscard]] virtual std::span<const int32_t> positions_of_seeds(int type) const = 0;
  virtual std::optional<Message> receive(const Message& from_ranks) = 0;
  virtual Minibatch take() = 0;
};

}  // namespace ramet
