// The first half of building a CSC: a stable radix partition of the edges by the high bits of their
// destination. Every part of the edge list counts its edges per bucket; a prefix sum over (bucket,
// part) gives each part its positions in each bucket; then every part writes its edges there. So
// the order inside a bucket is that of the edge list, whichever threads ran the parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "edge_arrays.h"
#include "ramet/buffer_pool.h"
#include "write_combiner.h"

namespace ramet {

// Which rows form a bucket: 2^shift that follow each other. So many buckets that the edges of one
// fit the second-level cache beside its rows' offsets, and so few that their write-combining
// buffers do (Polychroniou, Ross: "A comprehensive study of main-memory partitioning and its
// application to large-scale comparison- and radix-sort", SIGMOD 2014).
class Buckets {
 public:
  static constexpr int64_t kMost = 1 << 12;

  Buckets(int64_t num_rows, int64_t num_edges)
      : Buckets(at_most(std::max(num_edges / kEdges, num_rows / kRows), num_rows)) {}

  // `most` buckets of as few rows as that allows; 1 to kMost of them.
  static Buckets at_most(int64_t most, int64_t num_rows) {
    Buckets buckets;
    buckets.num_rows_ = num_rows;
    while (buckets.bucket_of(num_rows - 1) >= std::clamp<int64_t>(most, 1, kMost))
      ++buckets.shift_;
    return buckets;
  }

  [[nodiscard]] int64_t size() const { return num_rows_ == 0 ? 0 : bucket_of(num_rows_ - 1) + 1; }
  [[nodiscard]] int64_t bucket_of(int64_t row) const { return row >> shift_; }
  [[nodiscard]] int64_t first_row(int64_t bucket) const { return bucket << shift_; }
  [[nodiscard]] int64_t num_rows(int64_t bucket) const {
    return std::min(num_rows_ - first_row(bucket), int64_t{1} << shift_);
  }

 private:
  static constexpr int64_t kEdges = 1 << 13, kRows = 1 << 15;

  Buckets() = default;

  int64_t num_rows_ = 0;
  int shift_ = 0;
};

// Records grouped by bucket, in memory of its own.
template <typename Record>
struct RadixPartition {
  std::shared_ptr<void> memory;
  std::vector<int64_t> begin;  // [buckets + 1]

  [[nodiscard]] Record* data() const { return static_cast<Record*>(memory.get()); }
  [[nodiscard]] std::span<Record> bucket(int64_t b) const {
    const auto i = static_cast<size_t>(b);
    return {data() + begin[i], static_cast<size_t>(begin[i + 1] - begin[i])};
  }
};

// Edges: an EdgeArrays, or what is like one.
template <typename Edges>
class RadixPartitioner {
 public:
  // threads >= 1. `edges` outlives the partitioner.
  RadixPartitioner(const Edges& edges, const Buckets& buckets, int threads)
      : edges_(edges),
        buckets_(buckets),
        threads_(threads),
        parts_(std::clamp<int64_t>(edges.size() / kPartEdges, 1, int64_t{4} * threads)),
        positions_(static_cast<size_t>(parts_ * buckets.size())) {}

  // False where an id is out of range, which the caller has to look for; then nothing is counted.
  [[nodiscard]] bool count(int64_t num_src, int64_t num_dst) {
    std::atomic<bool> in_range{true};
    parallel_for(parts_, 1, threads_, [&](int64_t part, int64_t) {
      const auto counts = positions_of(part);
      const int64_t end = begin_of(part + 1);
      for (int64_t e = begin_of(part); e < end && in_range; e += kBlockEdges) {
        const int64_t block = std::min(kBlockEdges, end - e);
        if (!edges_.in_range(e, block, num_src, num_dst))
          in_range = false;
        else
          edges_.visit(e, e + block, [&](auto, int64_t row, auto) { ++counts[index_of(row)]; });
      }
    });
    return in_range;
  }

  // After count(). In `memory`, which is large enough and begins on a line, or in memory of its
  // own.
  template <typename Record>
  [[nodiscard]] RadixPartition<Record> scatter(std::shared_ptr<void> memory = nullptr) {
    RadixPartition<Record> out;
    out.begin = counts_to_positions();
    out.memory = memory != nullptr
                     ? std::move(memory)
                     : BufferPool::create()->allocate(out.begin.back() * int64_t{sizeof(Record)});
    parallel_for(parts_, 1, threads_, [&](int64_t part, int64_t) {
      WriteCombiner<Record> streams(out.data(), positions_of(part));
      edges_.visit(begin_of(part), begin_of(part + 1), [&](auto s, int64_t d, auto id) {
        const size_t bucket = index_of(d);
        const int64_t row = d - buckets_.first_row(static_cast<int64_t>(bucket));
        streams.put(bucket, {static_cast<uint32_t>(row), static_cast<typename Record::Index>(s),
                             typename Record::Id(id)});
      });
      streams.finish();
    });
    return out;
  }

 private:
  static constexpr int64_t kPartEdges = 1 << 16, kBlockEdges = 1 << 12;

  [[nodiscard]] int64_t begin_of(int64_t part) const {
    return edges_.size() / parts_ * part + std::min(part, edges_.size() % parts_);
  }
  [[nodiscard]] size_t index_of(int64_t row) const {
    return static_cast<size_t>(buckets_.bucket_of(row));
  }
  [[nodiscard]] std::span<int64_t> positions_of(int64_t part) {
    const auto n = static_cast<size_t>(buckets_.size());
    return std::span(positions_).subspan(static_cast<size_t>(part) * n, n);
  }

  // The exclusive prefix sum over (bucket, part). Returns where the buckets begin, and the total.
  std::vector<int64_t> counts_to_positions() {
    std::vector<int64_t> begin;
    int64_t total = 0;
    for (int64_t b = 0; b < buckets_.size(); ++b) {
      begin.push_back(total);
      for (int64_t part = 0; part < parts_; ++part) {
        int64_t& position = positions_of(part)[static_cast<size_t>(b)];
        total += std::exchange(position, total);
      }
    }
    begin.push_back(total);
    return begin;
  }

  const Edges& edges_;
  const Buckets& buckets_;
  int threads_;
  int64_t parts_;
  std::vector<int64_t> positions_;  // [parts, buckets]: counts, then positions
};

}  // namespace ramet
