#include "huge_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "mapped_file.h"
#include "ramet/pages.h"
#include "segment.h"

namespace ramet {

namespace {

// The system's headers may be older than its kernel.
constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14
constexpr int kCollapse = 25;      // MADV_COLLAPSE, Linux 6.1

constexpr uintptr_t kPage = 4096;  // at most the page size: residency is asked per page

bool is_resident(std::byte* data, size_t size) {
  unsigned char resident[kHugeAlignment / kPage];
  if (::mincore(data, size, resident) != 0) return false;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  unsigned char* const end = resident + (size + page - 1) / page;
  return std::all_of(resident, end, [](unsigned char flags) { return (flags & 1) != 0; });
}

// Calls body(data, size) for the parts of whole pages between multiples of 2 MiB.
template <typename Body>
void for_each_window(const void* data, int64_t size, const Body& body) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t end = address + static_cast<uintptr_t>(size);
  for (uintptr_t begin = address / page * page; begin < end;) {
    const auto behind = static_cast<uintptr_t>(round_up(int64_t(begin) + 1, kHugeAlignment));
    const uintptr_t next = std::min(behind, end);
    body(reinterpret_cast<std::byte*>(begin), next - begin);
    begin = next;
  }
}

}  // namespace

// A collapse wants one page to start from, and fills the rest with zeros. It does not ask whether
// files in memory get 2 MiB pages by themselves, which they do not by default.
void reserve_huge_pages(int fd, int64_t offset, int64_t size) {
  if (size < kHugeAlignment) return;
  Fd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) return;
  const auto mapped = InputFile(std::move(own), "a segment in memory").map(OpenMode::kRead);
  for (; size >= kHugeAlignment; offset += kHugeAlignment, size -= kHugeAlignment) {
    if (::pwrite(fd, "", 1, static_cast<off_t>(offset)) != 1) return;
    if (::madvise(mapped.get() + offset, kHugeAlignment, kCollapse) != 0) return;
  }
}

bool collapse_pages(uintptr_t address, int64_t bytes) {
  const auto begin = static_cast<uintptr_t>(round_up(int64_t(address), kHugeAlignment));
  const uintptr_t end = (address + static_cast<uintptr_t>(bytes)) / kHugeAlignment * kHugeAlignment;
  return begin >= end || ::madvise(reinterpret_cast<void*>(begin), end - begin, kCollapse) == 0;
}

bool are_resident(const void* data, int64_t size) {
  bool are = true;
  for_each_window(data, size, [&](std::byte* window, size_t bytes) {
    are = are && is_resident(window, bytes);
  });
  return are;
}

void map_resident_pages(const void* data, int64_t size) {
  for_each_window(data, size, [](std::byte* window, size_t bytes) {
    if (is_resident(window, bytes)) ::madvise(window, bytes, kPopulateRead);
  });
}

}  // namespace ramet
