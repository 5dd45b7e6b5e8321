// HopSampler: one hop of sampling, all edge types of it, for whoever drives the hops: a process
// alone, or ranks that cooperate.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "importance.h"
#include "labor_sampler.h"
#include "node_index.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "uniform_sampler.h"

namespace ramet {

// kOutOfRange, kInvalidArgument: seeds that are no nodes of the type, or too many; no such type.
void check_seeds(std::span<const int64_t> seeds, const Graph& graph, size_t seed_type);

// The nodes of a batch, or of a layer of it, by node type.
template <typename Id>
using NodeIndexes = std::vector<NodeIndex<Id>>;

// Makes an index for each node type of `graph`: of all its nodes, or of those in ranges[type].
template <typename Id>
void prepare(NodeIndexes<Id>& nodes, const Graph& graph);
template <typename Id>
void prepare(NodeIndexes<Id>& nodes, const Graph& graph, std::span<const NodeRange> ranges);

template <typename Id>
[[nodiscard]] std::vector<int64_t> sizes(const NodeIndexes<Id>& nodes);

template <typename Id>
[[nodiscard]] Array to_int64(std::span<const Id> ids, BufferPool& pool);

// 32 bits are enough for every id of the graph.
[[nodiscard]] bool has_narrow_ids(const Graph& graph);

// Kept from batch to batch, so that a steady run touches no fresh memory.
template <typename Id>
struct HopScratch {
  UniformScratch<Id> uniform;
  LaborScratch<Id> labor;
  HopImportance<Id> importance;
};

struct HopOptions {
  std::shared_ptr<const Graph> graph;
  SampleOptions sample;
  std::shared_ptr<BufferPool> pool;
  int threads = 1;  // that work on one hop
};

template <typename Id>
class HopSampler {
 public:
  // `scratch` must outlive it.
  HopSampler(HopOptions options, HopScratch<Id>& scratch);

  [[nodiscard]] const HopOptions& options() const { return options_; }
  [[nodiscard]] int num_hops() const;

  // LABOR-i: makes all sources of the in-edges of the destinations candidates, whose importances
  // are then to be iterated before sample().
  [[nodiscard]] bool has_importance() const { return options_.sample.importance_iterations > 0; }
  HopImportance<Id>& weigh_candidates(NodeIndexes<Id>& nodes,
                                      std::span<const int64_t> num_dst,
                                      int hop);

  // Samples in-edges of the first num_dst[type] of `nodes`, to which new sources are appended. One
  // relation per edge type.
  [[nodiscard]] std::vector<Relation> sample(NodeIndexes<Id>& nodes,
                                             std::span<const int64_t> num_dst,
                                             const DrawKeys& step_keys,
                                             int hop);

 private:
  [[nodiscard]] RelationTask<Id> make_task(NodeIndexes<Id>& nodes,
                                           std::span<const int64_t> num_dst,
                                           size_t edge_type,
                                           int hop) const;
  [[nodiscard]] Relation sample_uniformly(const RelationTask<Id>& task,
                                          const DrawKeys& step_keys,
                                          int hop);
  [[nodiscard]] Relation sample_with_labor(const RelationTask<Id>& task,
                                           size_t edge_type,
                                           const DrawKeys& step_keys,
                                           int hop);

  HopOptions options_;
  HopScratch<Id>& scratch_;
  std::vector<uint64_t> source_type_hash_;  // by node type
};

}  // namespace ramet
