#include "base/system/writable_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/system/posix.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr const char* kDescriptors = "/proc/self/fd";

bool is_of(const struct stat& status, const MappedRange& range) {
  char device[32];
  std::snprintf(device, sizeof device, "%02x:%02x", major(status.st_dev), minor(status.st_dev));
  return range.device == device && range.inode == status.st_ino;
}

// The file of the range by `path`, for reading and writing.
Fd open_file(const std::string& path, const MappedRange& range) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !is_of(status, range)) return Fd();
  return Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

// By its name; else, as memory that has none, by a descriptor of this process. errno: of the first.
Fd open_file(const MappedRange& range) {
  Fd fd = open_file(range.path, range);
  if (fd) return fd;
  const int first_error = errno;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDescriptors, error)) {
    fd = open_file(entry.path().string(), range);
    if (fd) return fd;
  }
  errno = first_error;
  return fd;
}

std::string reason(const char* what, const Mapping& mapping) {
  return concat(what, " '", mapping.file, "': ", std::strerror(errno));
}

}  // namespace

// The destructor runs where this throws, as the default constructor has finished.
WritablePages::WritablePages(const void* begin, int64_t bytes) : WritablePages() {
  const auto first = reinterpret_cast<uint64_t>(begin), last = first + uint64_t(bytes);
  const std::vector<MappedRange> ranges = mapped_ranges(begin, bytes);
  if (ranges.empty()) why_not_ = "the kernel does not tell what is mapped there";
  for (const MappedRange& range : ranges) {
    if (range.is_writable()) continue;
    const uint64_t from = std::max(range.begin, first), to = std::min(range.end, last);
    const Pages pages{reinterpret_cast<void*>(from), size_t(to - from)};
    if (make_writable(mapping_of(range), pages)) continue;
    make_read_only();
    break;
  }
}

WritablePages::~WritablePages() {
  make_read_only();
}

bool WritablePages::make_writable(const Mapping& mapping, const Pages& pages) {
  if (mapping.is_private || !mapping.is_memory()) {
    why_not_ = mapping.file.empty() ? "it is memory of this process alone, which may not write it"
               : mapping.is_private ? concat("'", mapping.file, "' is mapped privately")
                                    : concat("'", mapping.file, "' is on ", mapping.file_system);
    return false;
  }
  made_.reserve(made_.size() + 1);
  if (::mprotect(pages.begin, pages.bytes, PROT_READ | PROT_WRITE) != 0) {
    const Fd fd = open_file(mapping.range);
    if (!fd) {
      why_not_ = reason("cannot open for writing", mapping);
      return false;
    }
    const auto into =
        static_cast<int64_t>(reinterpret_cast<uint64_t>(pages.begin) - mapping.range.begin);
    if (::mmap(pages.begin, pages.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd.get(),
               static_cast<off_t>(mapping.range.offset + into)) == MAP_FAILED) {
      why_not_ = reason("cannot map for writing", mapping);
      return false;
    }
    ::madvise(pages.begin, pages.bytes, MADV_HUGEPAGE);  // as the mapping was, where it may be
  }
  made_.push_back(pages);
  return true;
}

void WritablePages::make_read_only() noexcept {
  for (const Pages& pages : made_)
    ::mprotect(pages.begin, pages.bytes, PROT_READ);
  made_.clear();
}

}  // namespace ramet
