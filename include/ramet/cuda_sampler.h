// Neighbor sampling on a GPU: CudaSampler makes the minibatches of NeighborSampler (sampler.h), bit
// for bit, in device arrays. The topology is in device memory, or read in place from host memory.
//
// All work runs on streams: an array is complete when its stream has reached that point. A pool's
// buffers must be free for that stream at once, as those of DevicePool::on(stream) are
// (cuda_memory.h).
//
// Threads: a CudaGraph any; a CudaSampler one at a time. Forks: see cuda.h. Failure: the errors of
// NeighborSampler, with the same messages, and those of cuda.h. The sampler stays usable. A batch
// has at most 2^31 - 2 edges of one type in one hop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"
#include "ramet/graph.h"
#include "ramet/placement.h"
#include "ramet/progress.h"
#include "ramet/row_order.h"
#include "ramet/sampler.h"

namespace ramet {

// The topology of a graph as one device reads it. Immutable; keeps the graph alive.
class CudaGraph {
 public:
  // All callers in the process share one for the same graph, device and placement. Returns when a
  // copy is complete. `placement`: kDevice, which takes 8 bytes for each row and 4 or 8 for each
  // edge, or kInPlace, which takes the 8 for each row, with progress of page-locking. kNoSpace if
  // the device lacks memory, kInvalidArgument for other placements.
  [[nodiscard]] static std::shared_ptr<const CudaGraph> create(
      const std::shared_ptr<const Graph>& graph,
      int device,
      Location placement,
      const Progress& progress = {});

  // In-edges come in groups of kEdgeGroup. Of each edge type, groups in ascending order.
  static constexpr int64_t kEdgeGroup = 128;
  using EdgeGroups = std::vector<std::vector<int64_t>>;
  // A topology in place with copies of these groups in device memory; itself where there are none.
  // All callers that have `in_place` share the first such one, as long as it lives: `choose` is not
  // called then. kNoSpace as above, kInvalidArgument for a topology that is not in place, for
  // groups in another order or twice, and for a group that the edge type does not have all of.
  [[nodiscard]] static std::shared_ptr<const CudaGraph> with_copies(
      const std::shared_ptr<const CudaGraph>& in_place, const std::function<EdgeGroups()>& choose);
  // Bytes of device memory that a copy needs, with the weights and times that are sampled by.
  [[nodiscard]] static int64_t bytes_on_device(const Graph& graph, const SampleOptions& options);
  // Of a topology in place: the bounds of rows.
  [[nodiscard]] static int64_t bytes_of_bounds(const Graph& graph);

  virtual ~CudaGraph() = default;
  [[nodiscard]] virtual const std::shared_ptr<const Graph>& graph() const = 0;
  [[nodiscard]] virtual int device() const = 0;
  [[nodiscard]] virtual Location placement() const = 0;

  // The arrays of an edge type at the addresses that kernels read: int64, and int32 or int64 as in
  // the graph.
  [[nodiscard]] virtual const int64_t* indptr(size_t edge_type) const = 0;
  [[nodiscard]] virtual const void* indices(size_t edge_type) const = 0;
  // Of each group its number among those with copies, or -1, and the copies; nullptr without any.
  [[nodiscard]] virtual const int32_t* slots_of_copies(size_t edge_type) const = 0;
  [[nodiscard]] virtual const void* copied_indices(size_t edge_type) const = 0;
  // The user's edge ids, always in place; nullptr if ids are positions.
  [[nodiscard]] virtual const void* edge_ids(size_t edge_type) const = 0;
  // An array of the graph, such as a table of weights, placed as the topology when it is first
  // asked for. Throws as create() does.
  [[nodiscard]] virtual const void* table(const Array& array) const = 0;
};

// Empty if kernels support these options. Else the reason, which Budget has.
[[nodiscard]] std::string why_cpu_samples(const SampleOptions& options);

class CudaSampler {
 public:
  // kInvalidArgument, with why_cpu_samples(options), where that has a reason, and for a part of a
  // graph. `pool` provides the arrays of minibatches and scratch memory. Scratch memory grows with
  // the largest batch and is kept: 4 bytes per node of the graph (8 with LABOR-i), or in disjoint
  // trees up to 48 per node of the batch and edge of a hop (in-edge, with LABOR-i); about 20 per
  // edge of a hop; and 8 per in-edge of its destinations with Weighted, in dependent minibatches,
  // of rows in no order of times, and of edge types with excluded edges. `stream` must outlive the
  // sampler. `order`: of reading the rows of destinations; sorting takes 20 more bytes of scratch
  // memory each.
  CudaSampler(std::shared_ptr<const CudaGraph> graph,
              SampleOptions options,
              std::shared_ptr<BufferPool> pool,
              CudaStreamHandle stream,
              RowOrder order = RowOrder::kAuto);
  ~CudaSampler();

  // As NeighborSampler::sample(). All work runs on the stream. Returns when the sizes of the batch
  // are known and all ids are checked.
  [[nodiscard]] Minibatch sample(std::span<const Seeds> seeds,
                                 uint64_t epoch,
                                 uint64_t step,
                                 const std::atomic<bool>* stop = nullptr,
                                 std::span<const ExcludedEdges> excluded = {});
  [[nodiscard]] Minibatch sample(const Seeds& seeds,
                                 uint64_t epoch,
                                 uint64_t step,
                                 const std::atomic<bool>* stop = nullptr) {
    return sample(std::span(&seeds, 1), epoch, step, stop);
  }

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

// The functions of sampler.h for relations on a device. They run on `stream`, from arrays that are
// complete for it, into memory of `pool`.
[[nodiscard]] Array positions(const Relation& relation, BufferPool& pool, CudaStreamHandle stream);
[[nodiscard]] Array edge_ids(const CudaGraph& graph,
                             const Relation& relation,
                             BufferPool& pool,
                             CudaStreamHandle stream);
[[nodiscard]] Array edge_weights(const Relation& relation,
                                 BufferPool& pool,
                                 CudaStreamHandle stream);
[[nodiscard]] Array edge_index(const Relation& relation, BufferPool& pool, CudaStreamHandle stream);

// A copy with all arrays in host memory. Waits for all work given to the device so far, so the
// batch may be of any stream. A host batch is returned unchanged.
[[nodiscard]] Minibatch to_host(const Minibatch& batch);

}  // namespace ramet
