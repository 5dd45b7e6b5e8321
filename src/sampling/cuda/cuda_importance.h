// LABOR-i's importances on a device: what HopImportance is on the host (importance.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda_nodes.h"
#include "cuda_relation_builder.h"
#include "cuda_work.h"
#include "ramet/graph.h"

namespace ramet {

class CudaImportances {
 public:
  // The device keeps the number of candidates of node type t in sizes[t].
  // `tree_keys`, by node type, where trees are disjoint.
  CudaImportances(const CudaWork& work,
                  const Graph& graph,
                  std::span<const TreeKeys> tree_keys,
                  int64_t iterations,
                  int64_t* sizes);

  // All sources of the in-edges of `relations`, of which there is only what has a fanout, become
  // candidates.
  void start(std::span<CudaRelationBuilder> relations, CudaRelationScratch& scratch);
  // The numbers of candidates, by node type, which the host knows now.
  void set_sizes(std::span<const int64_t> sizes);
  // All iterations of a process alone. `stop`, where given, is looked at between them.
  void iterate(std::span<CudaRelationBuilder> relations, const std::atomic<bool>* stop);

  // The same in steps, for ranks that cooperate: begin() sets all importances to 1. Iterations are
  // two steps: the largest c of every candidate, and the update with it.
  void begin();
  void max_reduce(std::span<CudaRelationBuilder> relations) { solve(relations, true); }
  void update();
  // Then: the c of every row.
  void solve(std::span<CudaRelationBuilder> relations) { solve(relations, false); }

  // Of the candidates of a node type: their list, p, and largest c in an iteration.
  [[nodiscard]] const CudaNodes& candidates(size_t type) const { return types_[type].nodes; }
  [[nodiscard]] const double* p(int type) const;
  [[nodiscard]] double* largest_c(size_t type) { return types_[type].largest.data(); }
  void finish();

 private:
  struct OfType {
    CudaNodes nodes;
    CudaScratchArray<double> p, largest;
  };
  void solve(std::span<CudaRelationBuilder> relations, bool max_reduces);
  template <typename Step>
  void for_each_type(Step step);
  [[nodiscard]] OfType& sources_of(const CudaRelationBuilder& relation);

  const CudaWork& work_;
  const int64_t iterations_;
  bool is_first_ = true;  // iteration
  std::vector<OfType> types_;
};

}  // namespace ramet
