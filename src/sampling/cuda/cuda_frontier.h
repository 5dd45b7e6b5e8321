// CudaFrontier: what a device does of the hops of one rank among several that cooperate. It draws
// for the rank's own nodes and numbers the sources. Either a CudaIdExchange then sends these to
// their owners, and appends the nodes that other ranks ask for. Or the host does: sources are
// copied to it and leave the list, and the nodes that the rank owns are appended before the next
// hop. In an iteration of LABOR-i the host exchanges the c of candidates.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda_hop.h"
#include "kernels/renumbering.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "sampling/trees.h"

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

  // Begins a batch, whose hops draw no edges that are excluded.
  void start_batch(std::span<const ExcludedEdges> excluded);
  // With SampleOptions::time, before the first hop of a batch: the times of all trees.
  void start_times(const Array& seed_times);
  // How many own nodes the device has, and where those that follow are to be put before start().
  [[nodiscard]] int64_t num_own(size_t type) const { return num_own_[type]; }
  [[nodiscard]] std::vector<int64_t>& new_own(size_t type) { return new_own_[type]; }
  // With Time::monotonic, what paths leave: of own nodes before start(), of all sources after
  // sample().
  [[nodiscard]] std::vector<TimeSpan>& paths(size_t type) { return paths_[type]; }
  // Begins a hop. Destinations are positions among own nodes.
  void start(std::span<const ListRange> destinations, int hop);
  // The same after a CudaIdExchange, which has appended new own nodes.
  void go_on(std::span<const ListRange> destinations, int hop);
  // LABOR-i, as HopImportance has it in steps. Candidates are of the hop, by node type.
  void begin_importance();
  [[nodiscard]] std::span<const int64_t> candidates(size_t type) const {
    return candidates_[type].as<int64_t>();
  }
  void max_reduce();
  [[nodiscard]] std::span<double> largest_c(size_t type) {
    return {static_cast<double*>(largest_c_[type].data), candidates(type).size()};
  }
  void update();
  // The edges of the hop, by edge type, on the device: local ids count own nodes, and then found()
  // ones.
  [[nodiscard]] std::vector<Relation> sample(const DrawKeys& step_keys, int hop);
  // Then either a CudaIdExchange of work() and hop(), or the host takes the sources that are not
  // own nodes, in the order in which they were found.
  [[nodiscard]] const CudaWork& work() const { return work_; }
  [[nodiscard]] CudaHop& hop() { return hop_; }
  [[nodiscard]] BufferPool& host() const { return *host_; }
  void download_found();
  [[nodiscard]] std::span<const int64_t> found(size_t type) const {
    return found_[type].as<int64_t>();
  }
  // By a table of the device; or of the host, which must stay until the next hop, or wait().
  void renumber(const Relation& relation, const Renumbering& numbers) const;
  void renumber_by_host(const Relation& relation, const Renumbering& numbers);
  // Then relations are complete for every stream.
  void wait() const { work_.wait(); }
  // The same, after all hops.
  void finish_batch();

 private:
  [[nodiscard]] bool is_monotonic() const { return options_.time && options_.time->monotonic; }
  void download_paths(size_t type);
  // `count` values of the device's, when it has been waited for.
  [[nodiscard]] Array download(DType dtype, const void* from, int64_t count) const;
  // Of new own nodes; empty where the graph is whole.
  [[nodiscard]] std::span<const int64_t> rows_of_part(size_t type);

  const std::shared_ptr<const CudaGraph> graph_;
  const SampleOptions options_;
  const std::vector<TreeKeys> tree_keys_;  // by node type; empty unless trees are disjoint
  const CudaStream stream_;
  const CudaWork work_;
  const std::shared_ptr<BufferPool> host_;
  CudaHop hop_;
  std::vector<int64_t> num_own_;                      // by node type, as what follows
  std::vector<std::vector<int64_t>> new_own_, rows_;  // nodes, or keys of trees; and their rows
  std::vector<std::vector<TimeSpan>> paths_;
  std::vector<Array> found_, candidates_, largest_c_;  // page-locked
  CudaScratchArray<int32_t> table_;
  const int32_t* copied_ = nullptr;  // the host's table that table_ has
};

}  // namespace ramet
