// CudaNodes: the nodes of one type in a batch, on a device, and the table that finds them: what
// NodeIndex is on the host. The table has 4 bytes for every node of the graph and is empty between
// batches; those that a batch filled are emptied after it, or all, where it was left in the middle.
#pragma once

#include <cstdint>
#include <span>

#include "cuda_work.h"
#include "kernels/cuda_sampling.h"

namespace ramet {

// Of an edge type's sources, by pick.
struct CudaSources {
  const int64_t* ids;
  int64_t count;
};

class CudaNodes {
 public:
  // `size`: where the device keeps the number of nodes.
  CudaNodes(const CudaWork& work, int64_t num_nodes, int64_t* size);

  void start_batch(std::span<const int64_t> seeds);
  // local[i] = position of source i in the list, to which new ones are appended.
  void number(const CudaSources& sources, int32_t* local, CudaSumScratch& sums);
  // The number of nodes, which the host knows now. kInvalidArgument: more than 2^31 - 1.
  void set_size(int64_t size);
  // Empties the table of the nodes, whose number must have been set.
  void finish_batch();

  [[nodiscard]] uint32_t* slots() const { return slots_.data(); }
  [[nodiscard]] const int64_t* ids() const { return nodes_.data(); }
  [[nodiscard]] int64_t size() const { return size_; }  // as set, or of the seeds
  [[nodiscard]] int64_t most() const { return most_; }  // at least so many as there are

 private:
  [[nodiscard]] CudaNodeList list() const;

  const CudaWork& work_;
  const int64_t num_nodes_;
  int64_t* const device_size_;
  CudaScratchArray<uint32_t> slots_;
  CudaScratchArray<int64_t> nodes_;
  CudaScratchArray<uint32_t> rank_;
  int64_t num_seeds_ = 0, size_ = 0, most_ = 0;
  bool is_clean_ = false;
};

}  // namespace ramet
