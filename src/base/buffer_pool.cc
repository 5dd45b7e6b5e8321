#include "ramet/buffer_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "ramet/error.h"
#include "ramet/per_process.h"

namespace ramet {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kMaxBytes = int64_t{1} << 56;
constexpr int64_t kSharedIdleBytes = int64_t{256} << 20;

// Rounds up to one of four sizes per power of two, so that batches of similar size share buffers
// and at most a fifth is wasted.
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

void* map_bytes(int64_t bytes) {
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorCode::kNoSpace,
                "no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  if (bytes >= kHugePage) madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a hint
  return data;
}

// The idle buffers of one process. What is in use and idle together stays within the peak of use.
class Shelf {
 public:
  ~Shelf() { shrink_to(0); }

  void* take(int64_t size) {
    void* data = take_idle(size);
    if (data == nullptr) data = map_bytes(size);
    const std::lock_guard lock(mutex_);
    in_use_ += size;
    peak_ = std::max(peak_, in_use_);
    shrink_to(peak_ - in_use_);
    return data;
  }

  void give_back(void* data, int64_t size, int64_t max_idle) {
    if (getpid() != owner_ || !keep(data, size, max_idle)) munmap(data, static_cast<size_t>(size));
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
  void* take_idle(int64_t size) {
    const std::lock_guard lock(mutex_);
    const auto it = idle_.find(size);
    if (it == idle_.end()) return nullptr;
    void* data = it->second;
    idle_.erase(it);
    idle_bytes_ -= size;
    return data;
  }

  bool keep(void* data, int64_t size, int64_t max_idle) {
    const std::lock_guard lock(mutex_);
    in_use_ -= size;
    if (idle_bytes_ + size > std::min(peak_ - in_use_, max_idle)) return false;
    idle_.emplace(size, data);
    idle_bytes_ += size;
    return true;
  }

  // Unmaps idle buffers, the largest first, until at most `bytes` are idle.
  void shrink_to(int64_t bytes) {
    while (idle_bytes_ > bytes) {
      const auto largest = std::prev(idle_.end());
      munmap(largest->second, static_cast<size_t>(largest->first));
      idle_bytes_ -= largest->first;
      idle_.erase(largest);
    }
  }

  const pid_t owner_ = getpid();
  mutable std::mutex mutex_;
  std::multimap<int64_t, void*> idle_;  // by size class
  int64_t in_use_ = 0, idle_bytes_ = 0, peak_ = 0;
};

class RecyclingPool final : public BufferPool {
 public:
  explicit RecyclingPool(int64_t max_idle) : max_idle_(max_idle) {}

  std::shared_ptr<void> allocate(int64_t bytes) override {
    const int64_t size = size_class(bytes);
    Shelf* shelf = &shelf_.get();
    void* data = shelf->take(size);
    // The deleter holds the pool, so the shelf outlives its buffers.
    return {data, [pool = shared_from_this(), shelf, size, max_idle = max_idle_](void* p) {
              shelf->give_back(p, size, max_idle);
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
