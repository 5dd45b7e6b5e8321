// CountingSort: where each of a sequence of keys goes when they are sorted and equal ones stay in
// order. The keys are cut into parts, one per thread: each counts its keys, and a part's positions
// of a key follow those of the parts before it. So the positions do not depend on threads. `KeyOf`
// makes keys of other values.
//
// Memory: counters from the process's pool; the keys are the caller's. Threads: the caller's own
// and parallel_for's. Failure: kNoSpace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "ramet/buffer_pool.h"

namespace ramet {

template <typename Key, typename KeyOf = std::identity>
class CountingSort {
 public:
  // Keys in [0, num_keys), fewer than 2^31. Writes to `offsets`, num_keys + 1 values, where the
  // positions of each key begin, and where the last one's end.
  CountingSort(
      std::span<const Key> keys, int64_t num_keys, int64_t* offsets, int threads, KeyOf key_of = {})
      : keys_(keys),
        key_of_(key_of),
        num_keys_(num_keys),
        threads_(threads > 0 ? threads : hardware_threads()),
        num_parts_(std::clamp<int64_t>(size() / kLeastOfPart, 1, threads_)),
        counters_(BufferPool::shared()->allocate_array(DType::kInt32, {num_parts_, num_keys})) {
    parallel_for(num_parts_, 1, threads_, [&](int64_t part, int64_t) { count(part); });
    find_positions(offsets);
  }

  // The positions of a part's keys. In order, and once.
  class Part {
   public:
    [[nodiscard]] int64_t begin() const { return begin_; }
    [[nodiscard]] int64_t end() const { return end_; }
    // The position of keys[i].
    [[nodiscard]] int64_t take(int64_t i) const { return next_[key(i)]++; }
    // Where a later key will go, or nearly: to be requested from memory.
    [[nodiscard]] int64_t guess_ahead(int64_t i) const {
      __builtin_prefetch(next_ + key(std::min(i + 2 * kAhead, end_ - 1)), 1);
      return next_[key(std::min(i + kAhead, end_ - 1))];
    }

   private:
    friend class CountingSort;
    [[nodiscard]] size_t key(int64_t i) const {
      return static_cast<size_t>(key_of_(keys_[size_t(i)]));
    }

    std::span<const Key> keys_;
    KeyOf key_of_;
    int64_t begin_, end_;
    int32_t* next_;
  };

  // Calls body(part) for each part, on several threads.
  template <typename Body>
  void visit(const Body& body) const {
    parallel_for(num_parts_, 1, threads_, [&](int64_t p, int64_t) { body(part(p)); });
  }

 private:
  static constexpr int64_t kLeastOfPart = int64_t{64} << 10;  // keys that are worth a thread
  static constexpr int64_t kAhead = 24;                       // keys

  [[nodiscard]] int64_t size() const { return std::ssize(keys_); }

  [[nodiscard]] Part part(int64_t p) const {
    Part part;
    part.keys_ = keys_;
    part.key_of_ = key_of_;
    part.begin_ = size() * p / num_parts_;
    part.end_ = size() * (p + 1) / num_parts_;
    part.next_ = static_cast<int32_t*>(counters_.data) + p * num_keys_;
    return part;
  }

  void count(int64_t p) const {
    const Part own = part(p);
    std::fill_n(own.next_, num_keys_, 0);
    for (int64_t i = own.begin_; i < own.end_; ++i) {
      __builtin_prefetch(own.next_ + own.key(std::min(i + kAhead, own.end_ - 1)), 1);
      ++own.next_[own.key(i)];
    }
  }

  // Turns counters into positions: chunks of keys are added up first, so that they can start at
  // once.
  void find_positions(int64_t* offsets) const {
    auto* const counters = static_cast<int32_t*>(counters_.data);
    constexpr int64_t kChunk = int64_t{64} << 10;
    const int64_t chunk = num_parts_ == 1 ? std::max<int64_t>(num_keys_, 1) : kChunk;
    std::vector<int64_t> first(static_cast<size_t>((num_keys_ + chunk - 1) / chunk + 1), 0);
    if (num_parts_ > 1) {
      parallel_for(num_keys_, chunk, threads_, [&](int64_t begin, int64_t end) {
        int64_t sum = 0;
        for (int64_t p = 0; p < num_parts_; ++p)
          for (int64_t key = begin; key < end; ++key)
            sum += counters[p * num_keys_ + key];
        first[static_cast<size_t>(begin / chunk + 1)] = sum;
      });
      for (size_t i = 1; i < first.size(); ++i)
        first[i] += first[i - 1];
    }
    parallel_for(num_keys_, chunk, threads_, [&](int64_t begin, int64_t end) {
      int64_t position = first[static_cast<size_t>(begin / chunk)];
      for (int64_t key = begin; key < end; ++key) {
        offsets[key] = position;
        for (int64_t p = 0; p < num_parts_; ++p) {
          int32_t& counter = counters[p * num_keys_ + key];
          const int32_t count = counter;
          counter = static_cast<int32_t>(position);
          position += count;
        }
      }
    });
    offsets[num_keys_] = size();
  }

  std::span<const Key> keys_;
  KeyOf key_of_;
  int64_t num_keys_;
  int threads_;
  int64_t num_parts_;
  Array counters_;  // int32[num_parts, num_keys]
};

}  // namespace ramet
