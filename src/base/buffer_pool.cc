#include "ramet/buffer_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/free_list.h"
#include "base/per_process.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kMaxBytes = int64_t{1} << 56;
constexpr int64_t kSharedIdleBytes = int64_t{1} << 30;

// Shapes may come from a hostile file or a careless caller.
void require_countable_bytes(const Array& array) {
  int64_t bytes = item_size(array.dtype);
  for (const int64_t extent : array.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes) ||
        bytes > kMaxBytes) {
      throw_error(ErrorCode::kNoSpace, "no memory for an array of ", array.describe());
    }
  }
}

void* map_pages(int64_t bytes) {
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    throw_error(ErrorCode::kNoSpace, "no memory for a buffer of ", bytes, " bytes");
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

// Memory of the process, for a FreeList.
struct Pages {
  struct Buffer {
    void* data = nullptr;
    int64_t size = 0;
  };
  static Buffer map(int64_t size) { return {map_bytes(size), size}; }
  static void unmap(Buffer buffer) noexcept {
    munmap(buffer.data, static_cast<size_t>(buffer.size));
  }
};

class RecyclingPool final : public BufferPool {
 public:
  explicit RecyclingPool(int64_t max_idle) : max_idle_(max_idle) {}

  std::shared_ptr<void> allocate(int64_t bytes) override {
    if (bytes < 0 || bytes > kMaxBytes)
      throw_error(ErrorCode::kNoSpace, "no memory for a buffer of ", bytes, " bytes");
    FreeList<Pages>* list = &free_list_.get();
    const Pages::Buffer buffer = list->take(bytes);
    // The deleter holds the pool, so the free list outlives its buffers.
    return {buffer.data, [pool = shared_from_this(), list, buffer, max_idle = max_idle_,
                          owner = getpid()](void*) {
              if (getpid() == owner) return list->give_back(buffer, max_idle);
              Pages::unmap(buffer);  // the parent's free list
            }};
  }

  int64_t bytes_in_use() const override { return free_list_.get().in_use(); }
  int64_t bytes_idle() const override { return free_list_.get().idle(); }

 private:
  const int64_t max_idle_;
  mutable PerProcess<FreeList<Pages>> free_list_;
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
  Array array{nullptr, dtype, std::move(shape), nullptr, true, device()};
  require_countable_bytes(array);
  auto buffer = allocate(array.bytes());
  array.data = buffer.get();
  array.owner = std::move(buffer);
  return array;
}

Array copy(const Array& array) {
  return copy(array, *BufferPool::create());
}

Array copy(const Array& array, BufferPool& pool) {
  Array result = pool.allocate_array(array.dtype, array.shape);
  if (array.bytes() > 0) {
    std::memcpy(result.data, array.data, static_cast<size_t>(array.bytes()));
  }
  return result;
}

}  // namespace ramet
