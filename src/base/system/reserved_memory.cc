#include "base/system/reserved_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/system/posix.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kStep = int64_t{64} << 20;  // by which it grows at least: calls are few

// What /proc/self/pagemap says of a page: in memory and this process's own, or swapped. The page of
// zeros, which the kernel shows where only reads have been, is neither.
constexpr uint64_t kOwnPage = uint64_t{1} << 56, kSwappedPage = uint64_t{1} << 62;
constexpr int64_t kPagesAtATime = int64_t{1} << 16;

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

int64_t ReservedMemory::taken_bytes() const {
  const Fd pages(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const int64_t page = ::sysconf(_SC_PAGESIZE), first = reinterpret_cast<intptr_t>(data_) / page;
  const int64_t end = first + (usable_ + page - 1) / page;
  std::vector<uint64_t> said(static_cast<size_t>(std::min(end - first, kPagesAtATime)));
  int64_t taken = 0;
  for (int64_t at = first; at < end;) {
    const auto wanted = static_cast<size_t>(std::min(end - at, kPagesAtATime)) * sizeof(uint64_t);
    const ssize_t got = ::pread(pages.get(), said.data(), wanted, at * int64_t{sizeof(uint64_t)});
    if (got < ssize_t{sizeof(uint64_t)}) return usable_;
    const auto count = got / ssize_t{sizeof(uint64_t)};
    taken += std::count_if(said.begin(), said.begin() + count,
                           [](uint64_t one) { return (one & (kOwnPage | kSwappedPage)) != 0; });
    at += count;
  }
  return std::min(taken * page, usable_);
}

}  // namespace ramet
