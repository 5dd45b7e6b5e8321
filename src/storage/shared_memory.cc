#include "ramet/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "address_range.h"
#include "base/system/posix.h"
#include "base/system/space.h"
#include "huge_pages.h"
#include "memory_file.h"
#include "ramet/error.h"
#include "segment.h"

namespace ramet {

namespace {

const std::string kMemoryLocation = "shared memory";
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

struct SharedMemory::State {
  Fd fd;
  int64_t bytes;
  Identity identity;
};

SharedMemory SharedMemory::create(int64_t bytes) {
  if (bytes < 0) throw_invalid("shared memory of ", bytes, " bytes");
  require_memory(bytes, kMemoryLocation);
  const Fd fd = create_memory_file(kMemoryLocation);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw_errno(errno, "resize", kMemoryLocation);
  reserve_huge_pages(fd.get(), 0, bytes);
  reserve(fd.get(), 0, bytes, kMemoryLocation);
  seal(fd.get(), kSizeSeals, kMemoryLocation);
  return open(fd.get());
}

SharedMemory SharedMemory::open(int fd) {
  Fd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) throw_errno(errno, "duplicate", concat("descriptor ", fd));
  const int seals = ::fcntl(own.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || (seals & F_SEAL_WRITE) != 0)
    throw_invalid("descriptor ", fd, " is not of shared memory whose size is sealed");
  struct stat status{};
  if (::fstat(own.get(), &status) != 0) throw_errno(errno, "inspect", kMemoryLocation);
  return SharedMemory(std::make_shared<const State>(
      State{std::move(own), status.st_size, {status.st_dev, status.st_ino}}));
}

int SharedMemory::fd() const {
  return state_->fd.get();
}

int64_t SharedMemory::bytes() const {
  return state_->bytes;
}

std::pair<uint64_t, uint64_t> SharedMemory::identity() const {
  return state_->identity;
}

std::shared_ptr<std::byte> map_side_by_side(std::span<const PlacedMemory> pieces, int64_t bytes) {
  const auto range = std::make_shared<AddressRange>(static_cast<size_t>(bytes), kMemoryLocation);
  int64_t end = 0;
  for (const auto& [memory, offset] : pieces) {
    if (offset < end || offset % page_size() != 0 || memory.bytes() > bytes - offset)
      throw_invalid("a piece of ", memory.bytes(), " bytes at byte ", offset, " of ", bytes,
                    "; the piece before ends at ", end);
    end = offset + memory.bytes();
    if (memory.bytes() == 0) continue;
    std::byte* at = range->begin() + offset;
    constexpr int kAccess = PROT_READ | PROT_WRITE;
    const auto length = static_cast<size_t>(memory.bytes());
    if (::mmap(at, length, kAccess, MAP_SHARED | MAP_FIXED, memory.fd(), 0) == MAP_FAILED)
      throw_errno(errno, "map", kMemoryLocation);
    if (memory.bytes() >= kHugeAlignment) ::madvise(at, length, MADV_HUGEPAGE);
  }
  return {range, range->begin()};
}

}  // namespace ramet
