// CudaNodes: the nodes of one type in a batch, on a device, and the table that finds them: what
// NodeIndex is on the host. The table has 4 bytes for every node of the graph and is empty between
// batches; those that a batch filled are emptied after it, or all, where it was left in the middle.
// Nodes of disjoint trees are keys (sampling/trees.h), whose table has 12 bytes for each of two to
// four times as many keys as the batch may have, and is emptied before each batch, and by keep().
#pragma once

#include <cstdint>
#include <span>

#include "cuda_work.h"
#include "kernels/cuda_sampling.h"
#include "sampling/hop_driver.h"
#include "sampling/trees.h"

namespace ramet {

// Of an edge type's sources, by pick: nodes or their keys.
struct CudaSources {
  const int64_t* ids;
  int64_t count;
};

class CudaNodes {
 public:
  // `size`: where the device keeps the number of nodes. `keys`: of disjoint trees, or nullptr.
  CudaNodes(const CudaWork& work, int64_t num_nodes, int64_t* size, const TreeKeys* keys = nullptr);

  // `rows`: of a part of a graph, the row of each seed; empty: a node's row has its number.
  void start_batch(std::span<const int64_t> seeds, std::span<const int64_t> rows = {});
  // Between hops: leaves the first `size` nodes alone. The number of nodes must have been set.
  // append() must follow.
  void keep(int64_t size);
  // Adds nodes that are not there; `rows` as of the seeds. The device then knows how many there
  // are.
  void append(std::span<const int64_t> nodes, std::span<const int64_t> rows = {});
  // Of a part of a graph, the rows of the last nodes.
  void set_rows(std::span<const int64_t> rows);
  // Before `count` more sources are looked up in table().
  void reserve(int64_t count);
  // Of trees: takes the keys of the nodes at `range` apart, which are the destinations of a hop.
  // `spans`: what each tree allows, or nullptr; of which their paths() leave a part.
  void start_hop(ListRange range, const CudaSpan* spans, bool has_paths);
  [[nodiscard]] const int64_t* dst_ids() const { return dst_ids_.data(); }
  // What the paths to each node leave; all, at first, but those that are set, of the first nodes.
  [[nodiscard]] CudaPath* paths();
  void set_paths(std::span<const CudaPath> paths);
  [[nodiscard]] const CudaSpan* allowed() const { return has_spans_ ? allowed_.data() : nullptr; }

  // local[i] = position of source i in the list, to which new ones are appended.
  void number(const CudaSources& sources, int32_t* local, CudaSumScratch& sums);
  // The number of nodes, which the host knows now. kInvalidArgument: more than 2^31 - 1.
  void set_size(int64_t size);
  // Empties the table of the nodes, whose number must have been set.
  void finish_batch();

  [[nodiscard]] CudaNodeTable table() const;
  [[nodiscard]] const int64_t* device_size() const { return device_size_; }
  [[nodiscard]] bool has_keys() const { return tree_keys_ != nullptr; }
  [[nodiscard]] int id_bits() const { return tree_keys_->id_bits(); }
  [[nodiscard]] const int64_t* ids() const { return nodes_.data(); }  // or keys
  // Of the nodes that were given, or nullptr.
  [[nodiscard]] const int64_t* rows() const { return has_rows_ ? rows_.data() : nullptr; }
  [[nodiscard]] int64_t size() const { return size_; }  // as set, or of the nodes that were given

 private:
  [[nodiscard]] CudaNodeList list() const;
  void empty_table() const;
  void clear(int64_t first) const;

  const CudaWork& work_;
  const int64_t num_nodes_;
  const TreeKeys* const tree_keys_;
  int64_t* const device_size_;
  CudaScratchArray<uint32_t> slots_;
  CudaScratchArray<uint64_t> keys_;
  int64_t num_slots_ = 0;
  CudaScratchArray<int64_t> nodes_, rows_;
  CudaScratchArray<uint32_t> rank_;
  CudaScratchArray<int64_t> dst_ids_;
  CudaScratchArray<CudaSpan> allowed_;
  CudaScratchArray<CudaPath> paths_;
  int64_t num_paths_ = 0;
  bool has_spans_ = false, has_rows_ = false;
  int64_t num_given_ = 0, size_ = 0, most_ = 0;
  bool is_clean_ = false;
};

}  // namespace ramet
