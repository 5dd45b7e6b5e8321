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

void set_destinations(Block& block, std::span<const ListRange> destinations) {
  for (const ListRange& range : destinations) {
    block.first_dst.push_back(range.begin);
    block.num_dst.push_back(range.size());
  }
}

HopDriver::HopDriver(std::shared_ptr<const Graph> graph, const SampleOptions& options)
    : graph_(std::move(graph)),
      seed_(options.seed),
      dependent_(static_cast<uint64_t>(options.dependent)),
      expand_(options.expand),
      num_hops_(static_cast<int>(options.fanouts.front().size())) {}

void HopDriver::start(const Seeds& seeds, uint64_t epoch, uint64_t step) {
  seeds_.assign(seeds.ids.begin(), seeds.ids.end());
  check_seeds(seeds_, *graph_, seeds.type);
  step_keys_ = ramet::step_keys(seed_, epoch, step, dependent_);
  batch_ = {};
  batch_.seed_type = seeds.type;
  batch_.num_seeds = std::ssize(seeds_);
  batch_.merged = expand_ == Expand::kOnce;
}

std::span<const int64_t> HopDriver::seeds(size_t type) const {
  const bool is_of_seeds = type == static_cast<size_t>(batch_.seed_type);
  return std::span(seeds_).first(is_of_seeds ? seeds_.size() : 0);
}

// With kOnce, from where the hop before ended.
std::vector<ListRange> HopDriver::destinations(std::span<const int64_t> sizes) const {
  std::vector<ListRange> ranges;
  for (size_t t = 0; t < sizes.size(); ++t) {
    const bool is_first = expand_ == Expand::kEvery || batch_.blocks.empty();
    const Block* before = is_first ? nullptr : &batch_.blocks.back();
    ranges.push_back({is_first ? 0 : before->first_dst[t] + before->num_dst[t], sizes[t]});
  }
  return ranges;
}

Minibatch HopDriver::finish(std::vector<Array> n_id, std::vector<Array> trees) {
  std::reverse(batch_.blocks.begin(), batch_.blocks.end());
  batch_.n_id = std::move(n_id);
  batch_.trees = std::move(trees);
  return std::exchange(batch_, {});
}

}  // namespace ramet
