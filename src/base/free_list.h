// FreeList: the idle buffers of a pool, of any kind of memory; the pools of buffer_pool.h and
// cuda_memory.h use it. Used and idle bytes together stay within 5/4 of the peak use. Without the
// quarter, varying sizes would push out each other's buffers. Thread-safe; belongs to the process
// that made it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace ramet {

// `Memory` has a type Buffer, which has a `size`, and
//   Buffer map(int64_t size);                fresh memory, or throws
//   void unmap(Buffer buffer) noexcept;
template <typename Memory>
class FreeList {
 public:
  using Buffer = typename Memory::Buffer;

  explicit FreeList(Memory memory = {}) : memory_(std::move(memory)) {}
  ~FreeList() { clear(); }
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;

  // At least `bytes` bytes. Where there is no fresh memory, idle buffers are given up for it.
  Buffer take(int64_t bytes) {
    const int64_t size = size_class(bytes);
    Buffer buffer;
    if (!take_idle(size, buffer)) buffer = map(size);
    Buffers victims;
    {
      const std::lock_guard lock(mutex_);
      in_use_ += buffer.size;
      peak_ = std::max(peak_, in_use_);
      victims = shrink_to(room());
    }
    unmap(victims);
    return buffer;
  }

  // Takes a buffer back, or unmaps it where more than `max_idle` bytes would be idle.
  void give_back(Buffer buffer, int64_t max_idle) noexcept {
    if (!keep(buffer, max_idle)) memory_.unmap(std::move(buffer));
  }

  void clear() noexcept {
    Buffers victims;
    {
      const std::lock_guard lock(mutex_);
      victims = shrink_to(0);
    }
    unmap(victims);
  }

  int64_t in_use() const {
    const std::lock_guard lock(mutex_);
    return in_use_;
  }
  int64_t idle() const {
    const std::lock_guard lock(mutex_);
    return idle_bytes_;
  }

 private:
  using Buffers = std::multimap<int64_t, Buffer>;  // by size

  // Rounds up to one of four sizes per power of two, so that batches of similar size share buffers
  // and at most a fifth of a fresh buffer is wasted.
  static int64_t size_class(int64_t bytes) {
    bytes = std::max<int64_t>(bytes, 4096);
    const int64_t quarter = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 4;
    return (bytes + quarter - 1) / quarter * quarter;
  }

  Buffer map(int64_t size) {
    try {
      return memory_.map(size);
    } catch (...) {
      if (idle() == 0) throw;
      clear();
      return memory_.map(size);
    }
  }

  // The smallest that fits and wastes less than half of itself: sizes that vary from batch to batch
  // come to share the buffers of the largest, and nothing fresh is touched any more.
  bool take_idle(int64_t size, Buffer& buffer) {
    const std::lock_guard lock(mutex_);
    const auto it = idle_.lower_bound(size);
    if (it == idle_.end() || it->first >= 2 * size) return false;
    buffer = std::move(it->second);
    idle_.erase(it);
    idle_bytes_ -= buffer.size;
    return true;
  }

  bool keep(Buffer& buffer, int64_t max_idle) noexcept {
    const std::lock_guard lock(mutex_);
    const int64_t size = buffer.size;
    in_use_ -= size;
    if (idle_bytes_ + size > std::min(room(), max_idle)) return false;
    try {
      idle_.emplace(size, Buffer())->second = std::move(buffer);
    } catch (const std::bad_alloc&) {  // we are called by a destructor
      return false;
    }
    idle_bytes_ += size;
    return true;
  }

  [[nodiscard]] int64_t room() const { return peak_ + peak_ / 4 - in_use_; }

  // Takes out idle buffers until at most `bytes` are idle: the smallest that is enough, else the
  // largest, so that a small array does not cost a large buffer. Allocates nothing.
  Buffers shrink_to(int64_t bytes) noexcept {
    Buffers victims;
    while (idle_bytes_ > bytes) {
      auto victim = idle_.lower_bound(idle_bytes_ - bytes);
      if (victim == idle_.end()) --victim;
      idle_bytes_ -= victim->first;
      victims.insert(idle_.extract(victim));
    }
    return victims;
  }

  // Not under the mutex: it may wait for a device, and other threads want their buffers.
  void unmap(Buffers& victims) noexcept {
    for (auto& [size, buffer] : victims)
      memory_.unmap(std::move(buffer));
  }

  Memory memory_;
  mutable std::mutex mutex_;
  Buffers idle_;
  int64_t in_use_ = 0, idle_bytes_ = 0, peak_ = 0;
};

}  // namespace ramet
