#include "ramet/loader.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "base/digest.h"
#include "base/parallel.h"
#include "check_options.h"
#include "loader/pipeline/batch_stream.h"
#include "loader/pipeline/clock.h"
#include "loader/pipeline/stages.h"
#include "loader/rows/cached_nodes.h"
#include "loader/rows/table_reads.h"
#include "loader/seeds/link_seeds.h"
#include "loader/seeds/listed_plan.h"
#include "loader/seeds/node_seeds.h"
#include "loader/seeds/seed_plan.h"
#include "loader/seeds/subgraph_seeds.h"
#include "loader/sources/batch_source.h"
#include "loader_parts.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

// What the next digest is of, where it is not of nodes.
constexpr uint64_t kOfTimes = 1, kOfNextType = 2, kOfLinks = 3;

// A rank that is pinned to its share has no more; the cores of one that is not are also other
// ranks'.
int share_of_cores(int world) {
  return std::clamp(std::min(hardware_threads(), machine_threads() / world), 1,
                    kMaxAutomaticThreads);
}

std::shared_ptr<const BatchPlan> plan_of(const LoaderOptions& options, int64_t num_items) {
  return std::make_shared<const SeedPlan>(SeedPlanOptions{.num_items = num_items,
                                                          .batch_size = options.batch_size,
                                                          .shuffle = options.shuffle,
                                                          .drop_last = options.drop_last,
                                                          .rank = options.rank,
                                                          .world = options.world,
                                                          .seed = options.sample.seed});
}

// All processors where they have a share in what is made. Two where the device reads memory of the
// host: one samples while the other's rows are on the bus. Else one.
int threads_beside(const DeviceSide& side, int cores) {
  int threads = 1;
  for (const PlacementDecision& decision : side.placement()) {
    if (decision.placement == Location::kStaged || reads_ahead(decision.placement)) return cores;
    if (decision.placement == Location::kInPlace) threads = std::min(2, cores);
  }
  return threads;
}

SeedList seeds_at(const LoaderParts& parts, int64_t epoch, int64_t step) {
  Batch batch;
  begin_batch(*parts.seeds, *parts.plan, epoch, step, *parts.pool, batch);
  return parts.seeds->take(batch);
}

std::shared_ptr<const SeedSource> seeds_of(const std::shared_ptr<const Graph>& graph,
                                           const LoaderOptions& options) {
  if (options.subgraphs != nullptr) return std::make_shared<const SubgraphSeeds>(options.subgraphs);
  if (options.links.empty()) return std::make_shared<const NodeSeeds>(options.inputs, *graph);
  return std::make_shared<const LinkSeeds>(graph, options);
}

SeedsOfStep seeds_of_step(const LoaderParts& parts) {
  return [&](int64_t step) { return seeds_at(parts, 0, step); };
}

std::shared_ptr<const DeviceSide> make_device_side(const LoaderParts& parts,
                                                   const Progress& progress) {
  return DeviceSide::create(parts.graph, {.loader = parts.options,
                                          .host = parts.host,
                                          .threads = parts.max_threads,
                                          .pinned = parts.pool,
                                          .seeds = seeds_of_step(parts),
                                          .num_steps = parts.plan->num_steps(),
                                          .progress = progress});
}

std::shared_ptr<const LoaderParts> make_parts(std::shared_ptr<const Graph> graph,
                                              LoaderOptions options,
                                              const Progress& progress) {
  check(options, *graph);
  const bool on_device = options.device.index != kHost;
  auto seeds = seeds_of(graph, options);
  auto plan = plan_of(options, seeds->num_items());
  const std::shared_ptr<LoaderParts> parts(
      new LoaderParts{.graph = std::move(graph),
                      .options = std::move(options),
                      .seeds = std::move(seeds),
                      .plan = std::move(plan),
                      .pool = on_device ? create_pinned_pool() : BufferPool::create()});
  const int threads = parts->options.threads, prefetch = parts->options.prefetch;
  parts->max_threads = threads > 0 ? threads : share_of_cores(parts->options.world);
  parts->host =
      make_host_side(parts->graph, parts->options, seeds_of_step(*parts), parts->plan->num_steps());
  if (on_device) {
    parts->device_side = make_device_side(*parts, progress);
    if (threads == 0) parts->max_threads = threads_beside(*parts->device_side, parts->max_threads);
  }
  parts->options.cooperative.presampled.clear();  // as large as the graph has nodes
  parts->max_prefetch = prefetch > 0 ? prefetch : parts->max_threads + (threads > 0 ? 0 : 1);
  return parts;
}

std::unique_ptr<BatchSource> source_of(std::shared_ptr<const LoaderParts> parts) {
  const bool on_host = parts->device_side == nullptr;
  return on_host ? make_host_source(std::move(parts)) : make_device_source(std::move(parts));
}

std::unique_ptr<EpochStream> start_batches(const std::shared_ptr<const LoaderParts>& parts,
                                           Steps steps,
                                           std::shared_ptr<GroupThread> thread = nullptr) {
  const GroupWork group_work = thread == nullptr ? GroupWork::kNone : GroupWork::kPull;
  if (thread == nullptr) require_none_pulled(*parts);
  const auto make_source = [parts](const Exchange& /*exchange*/) { return source_of(parts); };
  return start_stream(parts, std::move(steps), make_source, std::move(thread), group_work);
}

// Absorbs the weights or times of a type, where it has some.
uint64_t digest_table(uint64_t h,
                      uint64_t type_hash,
                      const std::map<std::string, Array>& tables,
                      const std::string& name) {
  const auto found = tables.find(name);
  if (found == tables.end()) return h;
  const Array& table = found->second;
  const bool is_weights = table.dtype == DType::kFloat32 || table.dtype == DType::kFloat64;
  if (is_weights) return digest_weights(absorb(h, type_hash), table);
  return table.dtype == DType::kInt64 ? digest_ids(absorb(h, type_hash), table) : h;
}

uint64_t digest_pairs(uint64_t h, const InputEdges& edges) {
  for (const int number : {edges.src, edges.dst, edges.edge_type})
    h = absorb(h, static_cast<uint64_t>(number));
  for (const Array* array : {&edges.positions, &edges.sources, &edges.destinations, &edges.times})
    if (array->data != nullptr) h = digest_ids(h, *array);
  return h;
}

}  // namespace

NeighborLoader::NeighborLoader(std::shared_ptr<const Graph> graph,
                               LoaderOptions options,
                               const Progress& progress)
    : parts_(make_parts(std::move(graph), std::move(options), progress)) {}

int64_t NeighborLoader::num_steps() const {
  return parts_->plan->num_steps();
}

std::unique_ptr<EpochStream> NeighborLoader::start(int64_t epoch, int64_t first_step) const {
  return start_batches(parts_, {parts_->plan, epoch, first_step});
}

std::unique_ptr<EpochStream> NeighborLoader::start(int64_t epoch,
                                                   int64_t first_step,
                                                   std::shared_ptr<GroupThread> thread) const {
  return start_batches(parts_, {parts_->plan, epoch, first_step}, std::move(thread));
}

std::unique_ptr<EpochStream> NeighborLoader::start(int64_t epoch,
                                                   int64_t first_step,
                                                   BatchList batches) const {
  auto plan = std::make_shared<const ListedPlan>(std::move(batches), parts_->seeds->num_items(),
                                                 options().rank, options().world);
  return start_batches(parts_, {std::move(plan), epoch, first_step});
}

Batch NeighborLoader::make(std::span<const int64_t> positions, int64_t epoch, int64_t step) const {
  require_at_least(epoch, 0, "epoch");
  require_at_least(step, 0, "step");
  Batch batch;
  batch.epoch = epoch;
  batch.step = step;
  batch.global_num_seeds = std::ssize(positions);
  batch.global_items.assign(positions.begin(), positions.end());
  batch.input_id = copy(borrow(positions), *parts_->pool);  // checked afterwards: no one changes it
  require_positions(batch.input_id.as<int64_t>(), parts_->seeds->num_items(), "positions");
  require_none_pulled(*parts_);
  const std::unique_ptr<BatchSource> source = source_of(parts_);
  const std::atomic<bool> never{false};
  {
    const AddSeconds timer(batch.timings.sample_seconds);
    source->sample(batch, never);
  }
  {
    const AddSeconds timer(batch.timings.gather_seconds);
    fetch_alone(parts_, *source, {.pool = parts_->pool}, batch);
  }
  return batch;
}

std::vector<int64_t> NeighborLoader::seeds(int64_t epoch, int64_t step) const {
  std::vector<int64_t> ids;
  for (const auto& of_type : seeds_at(*parts_, epoch, step).types)
    ids.insert(ids.end(), of_type.ids.begin(), of_type.ids.end());
  return ids;
}

int64_t NeighborLoader::global_num_seeds(int64_t step) const {
  return parts_->plan->global_size(step);
}

uint64_t NeighborLoader::fingerprint() const {
  const LoaderOptions& options = parts_->options;
  uint64_t h = graph()->whole_fingerprint();
  for (const InputNodes& nodes : options.inputs) {
    if (&nodes != options.inputs.data()) h = absorb(h, kOfNextType);
    h = absorb(h, static_cast<uint64_t>(nodes.node_type));
    if (nodes.ids.data != nullptr) h = digest_ids(h, nodes.ids);
    if (nodes.times.data != nullptr) h = digest_ids(absorb(h, kOfTimes), nodes.times);
  }
  for (const InputEdges& edges : options.links)
    h = digest_pairs(absorb(h, kOfLinks), edges);
  h = absorb(h, digest(options.sample));
  // Of sampled subgraphs the ranks have one each, however many ranks there are.
  h = absorb(h, options.subgraphs != nullptr ? options.subgraphs->digest()
                                             : static_cast<uint64_t>(options.batch_size));
  return absorb(h, (options.shuffle ? 2U : 0U) + (options.drop_last ? 1U : 0U));
}

uint64_t NeighborLoader::tables_digest() const {
  const SampleOptions& sample = parts_->options.sample;
  const std::string weights = weight_table(sample.method);
  if ((weights.empty() && !sample.time) || graph()->part()) return 0;
  uint64_t h = static_cast<uint64_t>(Domain::kFingerprint);
  for (const EdgeType& edges : graph()->edge_types()) {
    if (!weights.empty()) h = digest_table(h, edges.name_hash, edges.tables, weights);
    if (sample.time) h = digest_table(h, edges.name_hash, edges.tables, sample.time->table);
  }
  for (const NodeType& nodes : graph()->node_types()) {
    if (sample.time) h = digest_table(h, hash_name(nodes.name), nodes.tables, sample.time->table);
  }
  return h;
}

LoaderSummary NeighborLoader::summary() const {
  LoaderSummary summary = parts_->stats.get();
  summary.cores = hardware_threads();
  return summary;
}

int NeighborLoader::max_threads() const {
  return parts_->max_threads;
}

int NeighborLoader::max_prefetch() const {
  return parts_->max_prefetch;
}

int NeighborLoader::max_sampled() const {
  const auto& tables = parts_->options.tables;
  const bool pulls = std::any_of(tables.begin(), tables.end(),
                                 [](const auto& table) { return table.pulled() != nullptr; });
  const AheadLimits limits = limits_of(*parts_, pulls ? GroupWork::kPull : GroupWork::kNone);
  return static_cast<int>(parts_->max_prefetch + limits.sampled());
}

int64_t NeighborLoader::cache_bytes() const {
  return parts_->host.caches->memory_bytes();
}

const LoaderOptions& NeighborLoader::options() const {
  return parts_->options;
}

const std::shared_ptr<const Graph>& NeighborLoader::graph() const {
  return parts_->graph;
}

const std::shared_ptr<BufferPool>& NeighborLoader::pool() const {
  return parts_->pool;
}

std::shared_ptr<DevicePool> NeighborLoader::device_pool() const {
  return parts_->device_side == nullptr ? nullptr : parts_->device_side->pool();
}

std::shared_ptr<const CudaGraph> NeighborLoader::cuda_graph() const {
  return parts_->device_side == nullptr ? nullptr : parts_->device_side->graph();
}

std::vector<PlacementDecision> NeighborLoader::placement() const {
  const DeviceSide* const side = parts_->device_side.get();
  return side == nullptr ? parts_->host.placement : side->placement();
}

}  // namespace ramet
