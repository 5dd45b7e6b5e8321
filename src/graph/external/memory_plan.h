// How external_csc divides the memory that it may use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/parallel.h"
#include "graph/radix_partition.h"
#include "ramet/buffer_pool.h"

namespace ramet {

// Beside the arena there are, per thread, write-combining buffers and counts, at most 370 bytes per
// bucket, and a piece; and what each level of buckets counts, some 8-byte numbers per bucket.
struct MemoryPlan {
  MemoryPlan(int64_t memory, int threads_wanted)
      : threads(static_cast<int>(std::clamp<int64_t>(
            memory / kPerThread, 1, threads_wanted > 0 ? threads_wanted : hardware_threads()))),
        buckets(std::clamp<int64_t>(memory / kPerBucket, 1, Buckets::kMost)),
        piece_bytes(std::clamp<int64_t>(memory / 64, 1 << 12, 1 << 18)),
        arena_bytes(memory / 4 * 3 / kLine * kLine) {}

  static constexpr int64_t kPerThread = int64_t{16} << 20, kPerBucket = 4 << 10, kLine = 64;

  int threads;
  int64_t buckets;
  int64_t piece_bytes;  // read at once
  int64_t arena_bytes;
};

// Memory that each phase divides anew. Pages that were never used take no memory.
class Arena {
 public:
  explicit Arena(int64_t bytes) : bytes_(bytes), memory_(BufferPool::create()->allocate(bytes)) {}

  [[nodiscard]] int64_t bytes() const { return bytes_; }
  // How many items of so many bytes fit, a multiple of 16: arrays behind one another begin on
  // lines.
  [[nodiscard]] int64_t room_for(int64_t item_bytes) const { return bytes_ / item_bytes / 16 * 16; }
  [[nodiscard]] std::shared_ptr<void> at(int64_t offset) const {
    return {memory_, static_cast<std::byte*>(memory_.get()) + offset};
  }
  template <typename T>
  [[nodiscard]] T* as(int64_t offset) const {
    return static_cast<T*>(at(offset).get());
  }

 private:
  int64_t bytes_;
  std::shared_ptr<void> memory_;
};

}  // namespace ramet
