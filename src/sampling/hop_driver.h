// HopDriver: the hops of a minibatch in their order, whoever samples them: a processor, a device,
// or one of several ranks.
//
//     driver.start(...);
//     while (!driver.is_done()) driver.add(block of driver.hop());
//     Minibatch batch = driver.finish(n_id);
//
// One thread. start() begins anew, whatever happened before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"

namespace ramet {

// Positions [begin, end) of a list of nodes.
struct ListRange {
  int64_t begin = 0, end = 0;
  [[nodiscard]] int64_t size() const { return end - begin; }
  template <typename Node>
  [[nodiscard]] std::span<const Node> of(std::span<const Node> list) const {
    return list.subspan(static_cast<size_t>(begin), static_cast<size_t>(size()));
  }
};

// Block::first_dst and num_dst.
void set_destinations(Block& block, std::span<const ListRange> destinations);

// Minibatch::n_id and trees.
struct NodeLists {
  std::vector<Array> n_id, trees;
};

class HopDriver {
 public:
  HopDriver(std::shared_ptr<const Graph> graph, const SampleOptions& options);

  // kOutOfRange, kInvalidArgument: seeds that are no nodes of their type, or too many; no such
  // type, or one twice.
  void start(std::span<const Seeds> seeds, uint64_t epoch, uint64_t step);
  // Other seeds for what start() began. Throws as that does.
  void set_seeds(std::span<const Seeds> seeds);

  // The times of the seeds, as seed_times() has them; without data where there is no `rule`.
  [[nodiscard]] Array read_times(const std::optional<Time>& rule,
                                 std::span<const Seeds> seeds,
                                 BufferPool& pool) const;

  // The seeds of a node type: those of the batch, or none. A copy, which is what was checked: the
  // caller's memory may change meanwhile.
  [[nodiscard]] std::span<const int64_t> seeds(size_t type) const {
    return seeds_of_[type].of(std::span<const int64_t>(seeds_));
  }
  // Where those are among the seeds of all types.
  [[nodiscard]] int64_t first_seed(size_t type) const { return seeds_of_[type].begin; }
  [[nodiscard]] int64_t num_seeds() const { return batch_.num_seeds; }
  // Of each type, in the order in which they were given.
  [[nodiscard]] const std::vector<SeedCount>& seed_counts() const { return batch_.seeds; }
  [[nodiscard]] const DrawKeys& step_keys() const { return step_keys_; }
  [[nodiscard]] int hop() const { return static_cast<int>(batch_.blocks.size()); }
  [[nodiscard]] bool is_done() const { return hop() == num_hops_; }

  // Of the hop: what lists of nodes that now have these `sizes` draw for.
  [[nodiscard]] std::vector<ListRange> destinations(std::span<const int64_t> sizes) const;

  void add(Block block) { batch_.blocks.push_back(std::move(block)); }
  // `n_id`, `trees`: as of Minibatch.
  [[nodiscard]] Minibatch finish(std::vector<Array> n_id, std::vector<Array> trees = {});

 private:
  void add(const Seeds& seeds);

  const std::shared_ptr<const Graph> graph_;
  const uint64_t seed_, dependent_;
  const Expand expand_;
  const int num_hops_;
  std::vector<int64_t> seeds_;       // of all types
  std::vector<ListRange> seeds_of_;  // by node type
  DrawKeys step_keys_{};
  Minibatch batch_;
};

}  // namespace ramet
