#include "ramet/buffer_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "ramet/error.h"
#include "ramet/per_process.h"

namespace ramet {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kMaxBytes = int64_t{1} << 56;
constexpr int64_t kSharedIdleBytes = int64_t{1} << 30;

// Rounds up to one of four sizes per power of two, so that batches of similar size share buffers
// and at most a fifth of a fresh buffer is wasted.
int64_t size_class(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 4096);
  const int64_t quarter = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

// Shapes may come from a hostile file or a careless caller.
void require_countable_bytes(const Array& array) {
  int64_t bytes = item_size(array.dtype);
  for (const int64_t extent : array.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes) ||
        bytes > kMaxBytes) {
      throw Error(ErrorCode::kNoSpace, "no memory for an array of " + array.describe());
    }
  }
}

void* map_pages(int64_t bytes) {
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorCode::kNoSpace,
                "no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  return data;
}

// At a multiple of 2 MiB, with huge pages where the kernel has them: a first touch, and a miss in
// the cache of addresses, per 2 MiB instead of per 4 KiB. Cut out of a mapping that is that much
// larger.
void* map_huge_pages(int64_t bytes) {
  char* const begin = static_cast<char*>(map_pages(bytes + kHugePage));
  const auto before = -reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(kHugePage);
  const auto behind = static_cast<uintptr_t>(kHugePage) - before;
  char* const data = begin + before;
  if (before > 0) munmap(begin, before);
  if (behind > 0) munmap(data + bytes, behind);
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a hint
  return data;
}

void* map_bytes(int64_t bytes) {
  return bytes < kHugePage ? map_pages(bytes) : map_huge_pages(bytes);
}

struct Buffer {
  void* data = nullptr;
  int64_t size = 0;
};

// The idle buffers of one process. What is in use and idle together stays within 5/4 of the peak of
// use: without the quarter, sizes that vary would push each other's buffers out.
class Shelf {
 public:
  ~Shelf() { shrink_to(0); }

  Buffer take(int64_t size) {
    Buffer buffer = take_idle(size);
    if (buffer.data == nullptr) buffer = {map_bytes(size), size};
    const std::lock_guard lock(mutex_);
    in_use_ += buffer.size;
    peak_ = std::max(peak_, in_use_);
    shrink_to(room());
    return buffer;
  }

  void give_back(Buffer buffer, int64_t max_idle) {
    if (getpid() == owner_ && keep(buffer, max_idle)) return;
    munmap(buffer.data, static_cast<size_t>(buffer.size));
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
  // The smallest that fits and wastes less than half of itself: sizes that vary from batch to batch
  // come to share the buffers of the largest, and nothing fresh is touched any more.
  Buffer take_idle(int64_t size) {
    const std::lock_guard lock(mutex_);
    const auto it = idle_.lower_bound(size);
    if (it == idle_.end() || it->first >= 2 * size) return {};
    const Buffer buffer{it->second, it->first};
    idle_.erase(it);
    idle_bytes_ -= buffer.size;
    return buffer;
  }

  bool keep(Buffer buffer, int64_t max_idle) {
    const std::lock_guard lock(mutex_);
    in_use_ -= buffer.size;
    if (idle_bytes_ + buffer.size > std::min(room(), max_idle)) return false;
    try {
      idle_.emplace(buffer.size, buffer.data);
    } catch (const std::bad_alloc&) {  // we are called by a destructor
      return false;
    }
    idle_bytes_ += buffer.size;
    return true;
  }

  [[nodiscard]] int64_t room() const { return peak_ + peak_ / 4 - in_use_; }

  // Unmaps idle buffers until at most `bytes` are idle: the smallest that is enough, else the
  // largest, so that a small array does not cost a large buffer.
  void shrink_to(int64_t bytes) {
    while (idle_bytes_ > bytes) {
      auto victim = idle_.lower_bound(idle_bytes_ - bytes);
      if (victim == idle_.end()) --victim;
      munmap(victim->second, static_cast<size_t>(victim->first));
      idle_bytes_ -= victim->first;
      idle_.erase(victim);
    }
  }

  const pid_t owner_ = getpid();
  mutable std::mutex mutex_;
  std::multimap<int64_t, void*> idle_;  // by size
  int64_t in_use_ = 0, idle_bytes_ = 0, peak_ = 0;
};

class RecyclingPool final : public BufferPool {
 public:
  explicit RecyclingPool(int64_t max_idle) : max_idle_(max_idle) {}

  std::shared_ptr<void> allocate(int64_t bytes) override {
    Shelf* shelf = &shelf_.get();
    const Buffer buffer = shelf->take(size_class(bytes));
    // The deleter holds the pool, so the shelf outlives its buffers.
    return {buffer.data, [pool = shared_from_this(), shelf, buffer, max_idle = max_idle_](void*) {
              shelf->give_back(buffer, max_idle);
            }};
  }

  int64_t bytes_in_use() const override { return shelf_.get().in_use(); }
  int64_t bytes_idle() const override { return shelf_.get().idle(); }

 private:
  const int64_t max_idle_;
  mutable PerProcess<Shelf> shelf_;
};

}  // namespace

std::shared_ptr<BufferPool> BufferPool::create() {
  return std::make_shared<RecyclingPool>(kMaxBytes);
}

const std::shared_ptr<BufferPool>& BufferPool::shared() {
  // Never destroyed: a thread may still hold buffers while the process exits.
  static const auto* const pool =
      new std::shared_ptr<BufferPool>(std::make_shared<RecyclingPool>(kSharedIdleBytes));
  return *pool;
}

Array BufferPool::allocate_array(DType dtype, std::vector<int64_t> shape) {
  Array array{nullptr, dtype, std::move(shape), nullptr, true};
  require_countable_bytes(array);
  auto buffer = allocate(array.bytes());
  array.data = buffer.get();
  array.owner = std::move(buffer);
  return array;
}

Array copy(const Array& array) {
  Array result = BufferPool::create()->allocate_array(array.dtype, array.shape);
  if (array.bytes() > 0) {
    std::memcpy(result.data, array.data, static_cast<size_t>(array.bytes()));
  }
  return result;
}

}  // namespace ramet
