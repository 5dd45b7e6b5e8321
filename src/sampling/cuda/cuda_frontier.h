// CudaFrontier: what a device does of the hops of one rank among several that cooperate. It draws
// for the rank's own nodes and numbers the sources. The list of own nodes is the host's, which
// exchanges ids with the other ranks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda_hop.h"
#include "kernels/renumbering.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"

namespace ramet {

class CudaFrontier {
 public:
  // `host`: page-locked.
  CudaFrontier(std::shared_ptr<const CudaGraph> graph,
               SampleOptions options,
               DevicePool& pool,
               std::shared_ptr<BufferPool> host,
               RowOrder order);
  ~CudaFrontier();
  CudaFrontier(const CudaFrontier&) = delete;
  CudaFrontier& operator=(const CudaFrontier&) = delete;

  // The edges that no hop of the next batch draws.
  void exclude(std::span<const ExcludedEdges> excluded) { hop_.exclude(excluded); }
  // Where own nodes are to be put, by node type, before sample().
  [[nodiscard]] std::vector<int64_t>& own(size_t type) { return own_[type]; }
  // The edges of a hop, by edge type, on the device. Destinations are positions among own nodes;
  // local ids count these, and then found() ones.
  [[nodiscard]] std::vector<Relation> sample(std::span<const ListRange> destinations,
                                             const DrawKeys& step_keys,
                                             int hop);
  // The sources that are not own nodes, in the order in which they were found.
  [[nodiscard]] std::span<const int64_t> found(size_t type) const {
    return found_[type].as<int64_t>();
  }
  // Whose table must stay until the next hop, or wait().
  void renumber(const Relation& relation, const Renumbering& numbers);
  // Then relations are complete for every stream.
  void wait() const { work_.wait(); }

 private:
  // Of own nodes; empty where the graph is whole.
  [[nodiscard]] std::span<const int64_t> rows_of_part(size_t type);

  const std::shared_ptr<const CudaGraph> graph_;
  const SampleOptions options_;
  const CudaStream stream_;
  const CudaWork work_;
  const std::shared_ptr<BufferPool> host_;
  CudaHop hop_;
  std::vector<std::vector<int64_t>> own_, rows_;  // by node type
  std::vector<Array> found_;
  CudaScratchArray<int32_t> table_;
  const int32_t* copied_ = nullptr;  // the host's table that table_ has
};

}  // namespace ramet
