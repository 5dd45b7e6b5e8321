// The first half of building a CSC: a stable radix partition of the edges by the high bits of their
// destination. Every part of the edge list counts its edges per bucket; a prefix sum over (bucket,
// part) gives each part its places in each bucket; then every part writes its edges there. So the
// order inside a bucket is that of the edge list, whichever threads ran the parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "edge_list.h"
#include "ramet/buffer_pool.h"
#include "write_combiner.h"

namespace ramet {

// Which rows form a bucket: 2^shift that follow each other. So many buckets that the edges of one
// fit the second-level cache beside its rows' offsets, and so few that their write-combining
// buffers do (Polychroniou, Ross: "A comprehensive study of main-memory partitioning and its
// application to large-scale comparison- and radix-sort", SIGMOD 2014).
class Buckets {
 public:
  Buckets(int64_t num_rows, int64_t num_edges) : num_rows_(num_rows) {
    const int64_t wanted = std::max(num_edges / kEdges, num_rows / kRows);
    const int64_t most = std::clamp<int64_t>(wanted, 1, kMost);
    while (bucket_of(num_rows - 1) >= most)
      ++shift_;
  }

  [[nodiscard]] int64_t size() const { return num_rows_ == 0 ? 0 : bucket_of(num_rows_ - 1) + 1; }
  [[nodiscard]] int64_t bucket_of(int64_t row) const { return row >> shift_; }
  [[nodiscard]] int64_t first_row(int64_t bucket) const { return bucket << shift_; }
  [[nodiscard]] int64_t num_rows(int64_t bucket) const {
    return std::min(num_rows_ - first_row(bucket), int64_t{1} << shift_);
  }

 private:
  static constexpr int64_t kMost = 1 << 12, kEdges = 1 << 13, kRows = 1 << 15;
  int64_t num_rows_;
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

template <typename T>
class RadixPartitioner {
 public:
  // threads >= 1. `edges` outlives the partitioner.
  RadixPartitioner(const EdgeList<T>& edges, const Buckets& buckets, int threads)
      : edges_(edges),
        buckets_(buckets),
        threads_(threads),
        parts_(std::clamp<int64_t>(edges.size() / kPartEdges, 1, int64_t{4} * threads)),
        places_(static_cast<size_t>(parts_ * buckets.size())) {}

  // False where an id is out of range, which the caller has to look for; then nothing is counted.
  [[nodiscard]] bool count(int64_t num_src, int64_t num_dst) {
    std::atomic<bool> in_range{true};
    parallel_for(parts_, 1, threads_, [&](int64_t part, int64_t) {
      const auto counts = places_of(part);
      const int64_t end = begin_of(part + 1);
      for (int64_t e = begin_of(part); e < end && in_range; e += kBlockEdges) {
        const int64_t block = std::min(kBlockEdges, end - e);
        if (!all_below(edges_.src, e, block, num_src) || !all_below(edges_.dst, e, block, num_dst))
          in_range = false;
        else
          edges_.visit(e, e + block, [&](T, T d, int64_t) { ++counts[index_of(d)]; });
      }
    });
    return in_range;
  }

  // After count().
  template <typename Record>
  [[nodiscard]] RadixPartition<Record> scatter() {
    RadixPartition<Record> out;
    out.begin = counts_to_places();
    out.memory = BufferPool::create()->allocate(out.begin.back() * int64_t{sizeof(Record)});
    parallel_for(parts_, 1, threads_, [&](int64_t part, int64_t) {
      WriteCombiner<Record> streams(out.data(), places_of(part));
      edges_.visit(begin_of(part), begin_of(part + 1), [&](T s, T d, int64_t id) {
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
  [[nodiscard]] size_t index_of(T row) const {
    return static_cast<size_t>(buckets_.bucket_of(row));
  }
  [[nodiscard]] std::span<int64_t> places_of(int64_t part) {
    const auto n = static_cast<size_t>(buckets_.size());
    return std::span(places_).subspan(static_cast<size_t>(part) * n, n);
  }

  // Without a branch in the loop, so that it becomes vector instructions: one of id and limit - id
  // has its top bit set where the id is outside [0, limit].
  static bool all_below(std::span<const T> ids, int64_t begin, int64_t count, int64_t bound) {
    using Word = std::make_unsigned_t<T>;
    if (bound == 0) return count == 0;
    const auto limit =
        static_cast<Word>(std::min(bound - 1, static_cast<int64_t>(std::numeric_limits<T>::max())));
    const T* const first = ids.data() + begin;
    Word seen = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto id = static_cast<Word>(first[i]);
      seen |= id | (limit - id);
    }
    return static_cast<T>(seen) >= 0;
  }

  // The exclusive prefix sum over (bucket, part). Returns where the buckets begin, and the total.
  std::vector<int64_t> counts_to_places() {
    std::vector<int64_t> begin;
    int64_t total = 0;
    for (int64_t b = 0; b < buckets_.size(); ++b) {
      begin.push_back(total);
      for (int64_t part = 0; part < parts_; ++part) {
        int64_t& place = places_of(part)[static_cast<size_t>(b)];
        total += std::exchange(place, total);
      }
    }
    begin.push_back(total);
    return begin;
  }

  const EdgeList<T>& edges_;
  const Buckets& buckets_;
  int threads_;
  int64_t parts_;
  std::vector<int64_t> places_;  // [parts, buckets]: counts, then places
};

}  // namespace ramet
