#include "base/system/reserved_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kStep = int64_t{64} << 20;  // by which it grows at least: calls are few

}  // namespace

ReservedMemory::ReservedMemory(int64_t most_bytes, std::string what)
    : what_(std::move(what)),
      most_bytes_(std::max<int64_t>(most_bytes, 1)),  // an address, also for no bytes
      process_(::getpid()) {
  void* const start = ::mmap(nullptr, static_cast<size_t>(most_bytes_), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    throw_error(ErrorCode::kNoSpace, what_, " may take ", most_bytes_,
                " bytes, but the process has no addresses for them");
  data_ = static_cast<std::byte*>(start);
  ::madvise(start, static_cast<size_t>(most_bytes_), MADV_DONTFORK);
  if (most_bytes_ >= 4 * kHugePage)
    ::madvise(start, static_cast<size_t>(most_bytes_), MADV_HUGEPAGE);
}

ReservedMemory::~ReservedMemory() {
  // A child may have something else at these addresses.
  if (data_ != nullptr && process_ == ::getpid()) ::munmap(data_, static_cast<size_t>(most_bytes_));
}

void ReservedMemory::grow(int64_t bytes) {
  if (bytes <= usable_) return;
  const int64_t wanted = std::min(most_bytes_, std::max(bytes, usable_ + kStep));
  if (::mprotect(data_, static_cast<size_t>(wanted), PROT_READ | PROT_WRITE) != 0)
    throw_error(ErrorCode::kNoSpace, what_, " needs ", bytes,
                " bytes of memory, which the system refuses");
  usable_ = wanted;
}

}  // namespace ramet
