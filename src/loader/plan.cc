// Which seeds form which batch; docs/semantics.md, section 6. Everything here is arithmetic on the
// options: no thread, no array per trainer.
#include <algorithm>
#include <string>

#include "base/digest.h"
#include "base/parallel.h"
#include "base/permutation.h"
#include "batch_rows.h"
#include "device_side.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "ramet/loader.h"
#include "ramet/random.h"
#include "tally.h"

namespace ramet {
namespace {

[[noreturn]] void invalid(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void require_at_least(int64_t value, int64_t least, const char* name) {
  if (value >= least) return;
  invalid(std::string(name) + " is " + std::to_string(value) + ", expected at least " +
          std::to_string(least));
}

void require_at_most(int64_t value, int64_t most, const char* name) {
  if (value <= most) return;
  invalid(std::string(name) + " is " + std::to_string(value) + ", expected at most " +
          std::to_string(most));
}

const NodeType& type_at(const Graph& graph, int position) {
  const auto& types = graph.node_types();
  require_index(position, static_cast<int64_t>(types.size()), "node type");
  return types[static_cast<size_t>(position)];
}

void check_inputs(const Array& ids, const NodeType& type) {
  if (ids.shape.size() != 1 || (ids.dtype != DType::kInt32 && ids.dtype != DType::kInt64)) {
    invalid("input_nodes is " + ids.describe() + ", expected one dimension of int32 or int64");
  }
  with_ids(ids, [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (static_cast<uint64_t>(values[i]) < static_cast<uint64_t>(type.num_nodes)) continue;
      throw Error(ErrorCode::kOutOfRange, "input_nodes[" + std::to_string(i) +
                                              "] = " + std::to_string(values[i]) +
                                              " is outside [0, " + std::to_string(type.num_nodes) +
                                              ") of node type '" + type.name + "'");
    }
  });
}

void check_table(const TableRequest& request, const Graph& graph, int seed_type) {
  if (request.at_seeds && (request.is_of_edges() || request.node_type != seed_type)) {
    invalid("table '" + request.name +
            "' is asked for at the seeds, but is not of their node type");
  }
  if (request.is_of_edges())
    require_index(request.edge_type, std::ssize(graph.edge_types()), "edge type");
  else
    require_index(request.node_type, std::ssize(graph.node_types()), "node type");
  static_cast<void>(table_of(graph, request));  // may throw
}

int share_of_cores(int world) {
  return std::clamp(hardware_threads() / world, 1, kMaxAutomaticThreads);
}

struct Span {
  int64_t begin, size;
};

// This rank's part of `batch`: the first (size mod world) ranks take one more.
Span slice(const Span& batch, int64_t rank, int64_t world) {
  const int64_t base = batch.size / world, extra = batch.size % world;
  return {batch.begin + rank * base + std::min(rank, extra), base + (rank < extra ? 1 : 0)};
}

}  // namespace

NeighborLoader::NeighborLoader(std::shared_ptr<const Graph> graph, LoaderOptions options)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      pool_(BufferPool::create()),
      tally_(std::make_shared<Tally>()) {
  check(options_.sample, *graph_);
  const NodeType& type = type_at(*graph_, options_.seed_type);
  require_at_least(options_.batch_size, 1, "batch_size");
  require_at_least(options_.threads, 0, "threads");
  require_at_most(options_.threads, kMaxThreads, "threads");
  require_at_least(options_.prefetch, 0, "prefetch");
  require_at_most(options_.prefetch, kMaxPrefetch, "prefetch");
  require_at_least(options_.world, 1, "world");
  require_at_least(options_.rank, 0, "rank");
  if (options_.rank >= options_.world) {
    invalid("rank is " + std::to_string(options_.rank) +
            ", expected less than world = " + std::to_string(options_.world));
  }
  const bool all_nodes = options_.input_nodes.data == nullptr;
  if (!all_nodes) check_inputs(options_.input_nodes, type);
  num_inputs_ = all_nodes ? type.num_nodes : options_.input_nodes.rows();
  for (const TableRequest& request : options_.tables)
    check_table(request, *graph_, options_.seed_type);
  max_threads_ = options_.threads > 0 ? options_.threads : share_of_cores(options_.world);
  if (options_.on.device == kHost)
    host_sources_ = host_sources(*graph_, options_);
  else
    prepare_device();
}

void NeighborLoader::prepare_device() {
  require_at_least(options_.on.device, 0, "device");
  require_at_least(options_.on.cache_rows, 0, "cache_rows");
  require_at_least(options_.on.max_sms, 0, "max_sms");
  if (!options_.on.tables.empty() && options_.on.tables.size() != options_.tables.size()) {
    invalid("placements of " + std::to_string(options_.on.tables.size()) + " tables for " +
            std::to_string(options_.tables.size()));
  }
  pool_ = create_pinned_pool();
  device_side_ =
      DeviceSide::create(graph_, {.loader = options_,
                                  .threads = max_threads_,
                                  .pinned = pool_,
                                  .seeds = [this](int64_t step) { return seeds(0, step); },
                                  .num_steps = num_steps()});
  const auto is_staged = [](const PlacementDecision& decision) {
    return decision.placement == Location::kStaged;
  };
  const auto& placed = device_side_->placement();
  const bool alone = std::none_of(placed.begin(), placed.end(), is_staged);
  if (alone && options_.threads == 0) max_threads_ = 1;  // the device does the work
}

std::shared_ptr<DevicePool> NeighborLoader::device_pool() const {
  return device_side_ == nullptr ? nullptr : device_side_->pool();
}

std::shared_ptr<const CudaGraph> NeighborLoader::cuda_graph() const {
  return device_side_ == nullptr ? nullptr : device_side_->graph();
}

const std::vector<std::shared_ptr<const RowSource>>& NeighborLoader::sources() const {
  return device_side_ == nullptr ? host_sources_ : device_side_->sources();
}

const std::vector<PlacementDecision>& NeighborLoader::placement() const {
  static const std::vector<PlacementDecision> kNone;
  return device_side_ == nullptr ? kNone : device_side_->placement();
}

int NeighborLoader::max_prefetch() const {
  if (options_.prefetch > 0) return options_.prefetch;
  return max_threads_ + (options_.threads > 0 ? 0 : 1);
}

LoaderSummary NeighborLoader::summary() const {
  return tally_->get();
}

int64_t NeighborLoader::num_steps() const {
  const int64_t full = num_inputs_ / options_.batch_size;
  const bool partial = !options_.drop_last && num_inputs_ % options_.batch_size != 0;
  return full + (partial ? 1 : 0);
}

int64_t NeighborLoader::global_num_seeds(int64_t step) const {
  require_index(step, num_steps(), "step");
  return std::min(options_.batch_size, num_inputs_ - step * options_.batch_size);
}

std::vector<int64_t> NeighborLoader::seeds(int64_t epoch, int64_t step) const {
  require_at_least(epoch, 0, "epoch");
  require_index(step, num_steps(), "step");
  const Span batch{step * options_.batch_size, global_num_seeds(step)};
  const Span mine = slice(batch, options_.rank, options_.world);
  const auto domain = static_cast<uint64_t>(Domain::kShuffle);
  const uint64_t key = absorb(absorb(domain, options_.sample.seed), static_cast<uint64_t>(epoch));
  const Permutation shuffled(num_inputs_, key);
  std::vector<int64_t> result(static_cast<size_t>(mine.size));
  for (int64_t i = 0; i < mine.size; ++i) {
    const int64_t position = mine.begin + i;
    result[static_cast<size_t>(i)] = options_.shuffle ? shuffled(position) : position;
  }
  if (options_.input_nodes.data == nullptr) return result;
  with_ids(options_.input_nodes, [&](auto ids) {
    for (int64_t& id : result)
      id = ids[static_cast<size_t>(id)];
  });
  return result;
}

uint64_t NeighborLoader::fingerprint() const {
  uint64_t h = absorb(graph_->whole_fingerprint(), static_cast<uint64_t>(options_.seed_type));
  if (options_.input_nodes.data != nullptr) h = digest_ids(h, options_.input_nodes);
  h = absorb(h, digest(options_.sample));
  h = absorb(h, static_cast<uint64_t>(options_.batch_size));
  h = absorb(h, (options_.shuffle ? 2U : 0U) + (options_.drop_last ? 1U : 0U));
  return h;
}

}  // namespace ramet
