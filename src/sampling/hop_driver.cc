#include "hop_driver.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "edge_times.h"
#include "ramet/error.h"

namespace ramet {
namespace {

void check_seeds(std::span<const int64_t> seeds, const NodeType& type) {
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
      num_hops_(options.fanouts.empty() ? 0 : static_cast<int>(options.fanouts.front().size())) {}

void HopDriver::start(std::span<const Seeds> seeds, uint64_t epoch, uint64_t step) {
  set_seeds(seeds);
  step_keys_ = ramet::step_keys(seed_, epoch, step, dependent_);
}

void HopDriver::set_seeds(std::span<const Seeds> seeds) {
  batch_ = {};
  seeds_.clear();
  seeds_of_.assign(graph_->node_types().size(), {});
  for (const Seeds& of_type : seeds)
    add(of_type);
  batch_.num_seeds = std::ssize(seeds_);
  batch_.merged = expand_ == Expand::kOnce;
}

void HopDriver::add(const Seeds& seeds) {
  require_index(seeds.type, std::ssize(seeds_of_), "node type");
  const auto type = static_cast<size_t>(seeds.type);
  const NodeType& nodes = graph_->node_types()[type];
  for (const SeedCount& before : batch_.seeds) {
    if (before.type == seeds.type)
      throw_invalid("seeds name node type '", nodes.name, "' twice, expected each type once");
  }
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  if (seeds.ids.size() > kMost - seeds_.size())
    throw_invalid(seeds.ids.size() + seeds_.size(), " seeds, expected at most ", kMost);
  const int64_t first = std::ssize(seeds_);
  seeds_.insert(seeds_.end(), seeds.ids.begin(), seeds.ids.end());
  seeds_of_[type] = {first, std::ssize(seeds_)};
  check_seeds(this->seeds(type), nodes);
  batch_.seeds.push_back({seeds.type, seeds_of_[type].size()});
}

Array HopDriver::read_times(const std::optional<Time>& rule,
                            std::span<const Seeds> seeds,
                            BufferPool& pool) const {
  if (rule) {
    std::vector<Seeds> checked(seeds.begin(), seeds.end());
    for (Seeds& of_type : checked)
      of_type.ids = this->seeds(static_cast<size_t>(of_type.type));
    return seed_times(*graph_, *rule, checked, pool);
  }
  for (const Seeds& of_type : seeds) {
    if (!of_type.times.empty())
      throw_invalid("there are times of seeds, input_time, but no option time");
  }
  return {};
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
