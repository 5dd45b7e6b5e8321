// The list of sampling methods: which RelationSampler a Method is.
#pragma once

#include <memory>

#include "edge_scan.h"
#include "importance.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "relation_sampler.h"
#include "trees.h"
#include "uniform_sampler.h"

namespace ramet {

struct HopOptions {
  std::shared_ptr<const Graph> graph;
  SampleOptions sample;
  std::shared_ptr<BufferPool> pool;
  int threads = 1;  // that work on one hop
};

// Kept from batch to batch, so that a steady run touches no fresh memory.
template <typename Id>
struct HopScratch {
  UniformScratch<Id> uniform;
  ScanScratch scan;
  HopImportance<Id> importance;
  std::vector<TreeNodes<Id>> trees;  // the destinations by node type, where trees are disjoint
};

// Throws kInvalidArgument unless the method's options fit `graph`; fanouts do.
void check_method(const SampleOptions& options, const Graph& graph);

// Both must outlive it.
template <typename Id>
[[nodiscard]] std::unique_ptr<RelationSampler<Id>> make_relation_sampler(const HopOptions& options,
                                                                         HopScratch<Id>& scratch);

}  // namespace ramet
