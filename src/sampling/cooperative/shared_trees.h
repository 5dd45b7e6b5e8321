// SharedTrees: the disjoint trees of all ranks that cooperate. Each rank says how many seeds it
// has, and their times. Trees are numbered rank by rank.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/message.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/sampler.h"

namespace ramet {

class SharedTrees {
 public:
  SharedTrees(size_t rank, size_t ranks) : rank_(rank), ranks_(ranks) {}

  // What this rank sends to all. `times`: as of seed_times(), or without data.
  [[nodiscard]] Message announce(int64_t num_trees, const Array& times, BufferPool& pool);
  // kCorrupt where a rank does not say what this one does: no number, or other times of a tree.
  void receive(const Message& from_ranks, BufferPool& pool);

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] int64_t first() const { return first_; }  // of this rank
  // Of all trees, as of seed_times().
  [[nodiscard]] const Array& times() const { return times_; }
  // Minibatch::seed_times of this rank's.
  [[nodiscard]] Array times_of_seeds(const Minibatch& minibatch, BufferPool& pool) const;

 private:
  const size_t rank_, ranks_;
  bool have_times_ = false;
  int64_t size_ = 0, first_ = 0;
  Array times_;
};

}  // namespace ramet
