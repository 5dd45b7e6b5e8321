// Multi-hop neighbor sampling; docs/semantics.md, sections 4 and 5. The work on one edge type of
// one hop is in uniform_sampler.cc and labor_sampler.cc.
#include "ramet/sampler.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

#include "draw_keys.h"
#include "importance.h"
#include "labor_sampler.h"
#include "ramet/error.h"
#include "ramet/per_process.h"
#include "ramet/store.h"
#include "uniform_sampler.h"

namespace ramet {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

void check_seeds(std::span<const int64_t> seeds, const NodeType& type) {
  if (seeds.size() > static_cast<size_t>(kMaxInt32)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        std::to_string(seeds.size()) + " seeds, expected at most " + std::to_string(kMaxInt32));
  }
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (static_cast<uint64_t>(seeds[i]) >= static_cast<uint64_t>(type.num_nodes)) {
      throw Error(ErrorCode::kOutOfRange, "seeds[" + std::to_string(i) +
                                              "] = " + std::to_string(seeds[i]) +
                                              " is outside [0, " + std::to_string(type.num_nodes) +
                                              ") of node type '" + type.name + "'");
    }
  }
}

// Kept from batch to batch and from sampler to sampler, so that a steady run touches no fresh
// memory.
template <typename Id>
struct Scratch {
  std::vector<NodeIndex<Id>> nodes;  // by node type
  std::vector<int64_t> seeds;
  UniformScratch<Id> uniform;
  LaborScratch<Id> labor;
  HopImportance<Id> importance;

  // The scratch memory that nobody uses now; never more than was in use at once.
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> idle;
  };
  static Shelf& shelf() {
    static auto* const shelves = new PerProcess<Shelf>;
    return shelves->get();
  }
  static std::unique_ptr<Scratch> take() {
    Shelf& from = shelf();
    const std::lock_guard lock(from.mutex);
    if (from.idle.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(from.idle.back());
    from.idle.pop_back();
    return scratch;
  }
  static void give_back(std::unique_ptr<Scratch> scratch) noexcept {
    try {
      Shelf& to = shelf();
      const std::lock_guard lock(to.mutex);
      to.idle.push_back(std::move(scratch));
    } catch (const std::bad_alloc&) {
      // Then it is freed instead.
    }
  }
};

template <typename Id>
std::vector<int64_t> sizes(const std::vector<NodeIndex<Id>>& nodes) {
  std::vector<int64_t> result;
  for (const auto& of_type : nodes)
    result.push_back(static_cast<int64_t>(of_type.ids().size()));
  return result;
}

template <typename Id>
Array to_int64(std::span<const Id> ids, BufferPool& pool) {
  Array result = pool.allocate_array(DType::kInt64, {static_cast<int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), static_cast<int64_t*>(result.data));
  return result;
}

}  // namespace

class NeighborSampler::Engine {
 public:
  virtual ~Engine() = default;
  virtual Minibatch sample(int seed_type,
                           std::span<const int64_t> seeds,
                           const DrawKeys& step_keys,
                           const std::atomic<bool>* stop) = 0;
};

namespace {

struct EngineOptions {
  std::shared_ptr<const Graph> graph;
  SampleOptions sample;
  std::shared_ptr<BufferPool> pool;
  int threads;
};

}  // namespace

// Ids are as wide inside as the graph's largest node type needs: half the memory traffic where
// 32 bits are enough.
template <typename Id>
class NeighborSampler::EngineFor final : public NeighborSampler::Engine {
 public:
  explicit EngineFor(EngineOptions options)
      : options_(std::move(options)), scratch_(Scratch<Id>::take()) {
    const auto& types = options_.graph->node_types();
    scratch_->nodes.resize(types.size());
    for (size_t t = 0; t < types.size(); ++t)
      scratch_->nodes[t].prepare(*options_.graph, types[t].num_nodes);
    for (const NodeType& type : types)
      source_type_hash_.push_back(hash_name(encode_name(type.name)));
  }
  ~EngineFor() override { Scratch<Id>::give_back(std::move(scratch_)); }
  EngineFor(const EngineFor&) = delete;
  EngineFor& operator=(const EngineFor&) = delete;

  Minibatch sample(int seed_type,
                   std::span<const int64_t> seeds,
                   const DrawKeys& step_keys,
                   const std::atomic<bool>* stop) override {
    start_batch(static_cast<size_t>(seed_type), seeds);
    Minibatch batch;
    batch.seed_type = seed_type;
    batch.num_seeds = static_cast<int64_t>(seeds.size());
    const int num_hops = static_cast<int>(options_.sample.fanouts.front().size());
    for (int hop = 0; hop < num_hops; ++hop) {
      if (stop != nullptr && stop->load()) return batch;
      batch.blocks.push_back(sample_hop(step_keys, hop, stop));
    }
    std::reverse(batch.blocks.begin(), batch.blocks.end());
    for (const auto& nodes : scratch_->nodes)
      batch.n_id.push_back(to_int64(nodes.ids(), *options_.pool));
    return batch;
  }

 private:
  void start_batch(size_t seed_type, std::span<const int64_t> seeds) {
    // Our copy is what is checked and used: the caller's memory may change meanwhile.
    scratch_->seeds.assign(seeds.begin(), seeds.end());
    check_seeds(scratch_->seeds, options_.graph->node_types().at(seed_type));
    for (size_t t = 0; t < scratch_->nodes.size(); ++t)
      scratch_->nodes[t].start_batch(t == seed_type ? scratch_->seeds : std::span<const int64_t>());
  }

  Block sample_hop(const DrawKeys& step_keys, int hop, const std::atomic<bool>* stop) {
    Block block;
    block.num_dst = sizes(scratch_->nodes);
    if (options_.sample.importance_iterations > 0) weigh_candidates(block, hop, stop);
    for (size_t t = 0; t < options_.graph->edge_types().size(); ++t) {
      const RelationTask<Id> task = make_task(block, t, hop);
      block.relations.push_back(options_.sample.sampler == Sampler::kLabor
                                    ? sample_with_labor(task, t, step_keys, hop)
                                    : sample_uniformly(task, step_keys, hop));
      block.relations.back().edge_type = static_cast<int>(t);
    }
    block.num_src = sizes(scratch_->nodes);
    return block;
  }

  RelationTask<Id> make_task(const Block& block, size_t edge_type, int hop) {
    const EdgeType& edges = options_.graph->edge_types()[edge_type];
    const auto src = static_cast<size_t>(edges.src), dst = static_cast<size_t>(edges.dst);
    return {.edges = edges,
            .num_src_nodes = options_.graph->node_types()[src].num_nodes,
            .fanout = options_.sample.fanouts[edge_type][static_cast<size_t>(hop)],
            .num_dst = block.num_dst[dst],
            .destinations = scratch_->nodes[dst],
            .sources = scratch_->nodes[src]};
  }

  Relation sample_uniformly(const RelationTask<Id>& task, const DrawKeys& step_keys, int hop) {
    const UniformDraws draws{hop_keys(step_keys, static_cast<uint64_t>(hop), task.edges.name_hash),
                             options_.sample.replace};
    return sample_uniform(task, draws, scratch_->uniform, *options_.pool, options_.threads);
  }

  Relation sample_with_labor(const RelationTask<Id>& task,
                             size_t edge_type,
                             const DrawKeys& step_keys,
                             int hop) {
    const int key_hop = options_.sample.layer_dependent ? 0 : hop;
    const uint64_t type_hash = source_type_hash_[static_cast<size_t>(task.edges.src)];
    const DrawKeys source_keys = hop_keys(step_keys, static_cast<uint64_t>(key_hop), type_hash);
    const bool weighted = options_.sample.importance_iterations > 0;
    return sample_labor(task, source_keys,
                        weighted ? &scratch_->importance.relation(edge_type) : nullptr,
                        scratch_->labor, *options_.pool, options_.threads);
  }

  // LABOR-i: importances of all sources of the hop, before anything is accepted.
  void weigh_candidates(const Block& block, int hop, const std::atomic<bool>* stop) {
    scratch_->importance.start(*options_.graph);
    for (size_t t = 0; t < options_.graph->edge_types().size(); ++t)
      scratch_->importance.add(make_task(block, t, hop));
    scratch_->importance.iterate(options_.sample.importance_iterations, stop);
  }

  EngineOptions options_;
  std::unique_ptr<Scratch<Id>> scratch_;
  std::vector<uint64_t> source_type_hash_;  // by node type
};

NeighborSampler::NeighborSampler(const std::shared_ptr<const Graph>& graph,
                                 SampleOptions options,
                                 std::shared_ptr<BufferPool> pool,
                                 int threads)
    : seed_(options.seed), dependent_(static_cast<uint64_t>(options.dependent)) {
  check(options, *graph);
  int64_t num_nodes = 0;
  for (const NodeType& type : graph->node_types())
    num_nodes = std::max(num_nodes, type.num_nodes);
  EngineOptions all{graph, std::move(options), pool ? std::move(pool) : BufferPool::shared(),
                    threads};
  if (num_nodes <= kMaxInt32) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all));
  }
}

NeighborSampler::~NeighborSampler() = default;

Minibatch NeighborSampler::sample(int seed_type,
                                  std::span<const int64_t> seeds,
                                  uint64_t epoch,
                                  uint64_t step,
                                  const std::atomic<bool>* stop) {
  const DrawKeys keys = step_keys(seed_, epoch, step, dependent_);
  return engine_->sample(seed_type, seeds, keys, stop);
}

}  // namespace ramet
