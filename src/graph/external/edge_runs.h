// The first phase: edges as they come, into runs. A run is partitioned by all threads, as in
// build_csc(); it is written to disk in the background, while the next edges are collected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "background.h"
#include "graph/edge_arrays.h"
#include "graph/radix_partition.h"
#include "memory_plan.h"
#include "run_file.h"
#include "run_ids.h"

namespace ramet {

struct GraphSize {
  int64_t num_src, num_dst;
  bool undirected;
};

// T: of ids while they wait. Index: of sources in the result.
template <typename T, typename Index>
class EdgeRuns {
 public:
  using Stored = EdgeRecord<Index, int32_t>;

  EdgeRuns(const std::string& folder,
           const GraphSize& size,
           const MemoryPlan& plan,
           const Arena& arena)
      : size_(size),
        threads_(plan.threads),
        arena_(arena),
        buckets_(Buckets::at_most(plan.buckets, size.num_dst)),
        capacity_(std::min(arena.room_for(kBytes * (size.undirected ? 1 : 0) + kBytesDirected),
                           kMostEdges)),
        runs_(folder, buckets_.size(), sizeof(Stored), capacity_ * (size.undirected ? 2 : 1)) {}

  [[nodiscard]] const Buckets& buckets() const { return buckets_; }
  [[nodiscard]] RunFile& runs() { return runs_; }
  [[nodiscard]] EdgeNumbers numbers() const { return {num_edges_, capacity_}; }
  [[nodiscard]] int64_t num_edges() const { return num_edges_; }

  // All are in range.
  template <typename Given>
  void add(std::span<const Given> src, std::span<const Given> dst) {
    while (!src.empty()) {
      if (waiting_ == capacity_) write_run();
      const auto take = std::min(src.size(), static_cast<size_t>(capacity_ - waiting_));
      narrow(src.first(take), sources() + waiting_);
      narrow(dst.first(take), destinations() + waiting_);
      waiting_ += static_cast<int64_t>(take);
      num_edges_ += static_cast<int64_t>(take);
      src = src.subspan(take);
      dst = dst.subspan(take);
    }
  }

  // Until all edges are in the runs.
  void finish() {
    if (waiting_ > 0) write_run();
    background_.wait();
  }

 private:
  static constexpr int64_t kBytes = sizeof(Stored);
  static constexpr int64_t kBytesDirected = int64_t{2 * sizeof(T) + sizeof(Stored)};
  static constexpr int64_t kMostEdges = int64_t{1} << 29;  // ids of reverses are 32 bits, too

  template <typename Given>
  static void narrow(std::span<const Given> ids, T* to) {
    std::transform(ids.begin(), ids.end(), to, [](Given id) { return static_cast<T>(id); });
  }

  [[nodiscard]] T* sources() const { return arena_.as<T>(0); }
  [[nodiscard]] T* destinations() const { return sources() + capacity_; }

  void write_run() {
    const auto count = static_cast<size_t>(waiting_);
    const EdgeArrays<T> edges{{sources(), count}, {destinations(), count}, size_.undirected};
    RadixPartitioner partitioner(edges, buckets_, threads_);
    static_cast<void>(partitioner.count(size_.num_src, size_.num_dst));  // they are in range
    background_.wait();  // the run before is in the memory that this one gets
    const auto run =
        partitioner.template scatter<Stored>(arena_.at(2 * capacity_ * int64_t{sizeof(T)}));
    waiting_ = 0;
    background_.start([this, run] { runs_.write(run.begin, run.data()); });
  }

  GraphSize size_;
  int threads_;
  const Arena& arena_;
  Buckets buckets_;
  int64_t capacity_;
  RunFile runs_;
  int64_t waiting_ = 0, num_edges_ = 0;
  Background background_;  // last: it uses the others
};

}  // namespace ramet
