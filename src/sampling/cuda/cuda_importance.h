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
  // `stop`, where given, is looked at between iterations.
  void iterate(std::span<CudaRelationBuilder> relations, const std::atomic<bool>* stop);
  // Of the candidates of a node type.
  [[nodiscard]] const double* p(int type) const;
  void finish();

 private:
  struct OfType {
    CudaNodes nodes;
    CudaScratchArray<double> p, largest;
  };
  [[nodiscard]] OfType& sources_of(const CudaRelationBuilder& relation);

  const CudaWork& work_;
  const int64_t iterations_;
  std::vector<OfType> types_;
};

}  // namespace ramet
