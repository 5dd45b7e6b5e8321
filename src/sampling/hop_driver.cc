#include "hop_driver.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ramet/error.h"

namespace ramet {
namespace {

void check_seeds(std::span<const int64_t> seeds, const Graph& graph, int seed_type) {
  const std::vector<NodeType>& types = graph.node_types();
  require_index(seed_type, std::ssize(types), "node type");
  const NodeType& type = types[static_cast<size_t>(seed_type)];
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  if (seeds.size() > kMost) {
    throw_invalid(seeds.size(), " seeds, expected at most ", kMost);
  }
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (static_cast<uint64_t>(seeds[i]) >= static_cast<uint64_t>(type.num_nodes)) {
      throw_error(ErrorCode::kOutOfRange, "seeds[", i, "] = ", seeds[i], " is outside [0, ",
                  type.num_nodes, ") of node type '", type.name, "'");
    }
  }
}

}  // namespace

HopDriver::HopDriver(std::shared_ptr<const Graph> graph, const SampleOptions& options)
    : graph_(std::move(graph)),
      seed_(options.seed),
      dependent_(static_cast<uint64_t>(options.dependent)),
      num_hops_(static_cast<int>(options.fanouts.front().size())) {}

void HopDriver::start(int seed_type,
                      std::span<const int64_t> seeds,
                      uint64_t epoch,
                      uint64_t step) {
  seeds_.assign(seeds.begin(), seeds.end());
  check_seeds(seeds_, *graph_, seed_type);
  step_keys_ = ramet::step_keys(seed_, epoch, step, dependent_);
  batch_ = {};
  batch_.seed_type = seed_type;
  batch_.num_seeds = std::ssize(seeds_);
}

std::span<const int64_t> HopDriver::seeds(size_t type) const {
  const bool is_of_seeds = type == static_cast<size_t>(batch_.seed_type);
  return std::span(seeds_).first(is_of_seeds ? seeds_.size() : 0);
}

Minibatch HopDriver::finish(std::vector<Array> n_id) {
  std::reverse(batch_.blocks.begin(), batch_.blocks.end());
  batch_.n_id = std::move(n_id);
  return std::exchange(batch_, {});
}

}  // namespace ramet
