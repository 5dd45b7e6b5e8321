#include "base/system/writable_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/system/posix.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr const char* kDescriptors = "/proc/self/fd";

void* at(uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

bool is_of(const struct stat& status, const Mapping& mapping) {
  return Identity(status.st_dev, status.st_ino) == mapping.identity;
}

// The file of the mapping by `path`, for reading and writing.
Fd open_file(const std::string& path, const Mapping& mapping) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !is_of(status, mapping)) return Fd();
  return Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

// By its name; else, as memory that has none, by a descriptor of this process.
Fd open_file(const Mapping& mapping) {
  Fd fd = open_file(mapping.file, mapping);
  if (fd) return fd;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDescriptors, error)) {
    fd = open_file(entry.path().string(), mapping);
    if (fd) return fd;
  }
  return fd;
}

std::string reason(const char* what, const Mapping& mapping) {
  return concat(what, " '", mapping.file, "': ", std::strerror(errno));
}

}  // namespace

WritablePages::WritablePages(const void* begin, int64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t last = first + static_cast<uintptr_t>(bytes);
  for (uintptr_t from = first; from < last;) {
    const std::optional<Mapping> mapping = mapping_at(at(from));
    if (!mapping) {
      why_not_ = "the kernel does not tell what is mapped there";
      break;
    }
    const uintptr_t to = std::min(mapping->end, last);
    if (!mapping->is_writable && !make_writable(*mapping, from, to)) break;
    from = to;
  }
  if (!why_not_.empty()) make_read_only();
}

WritablePages::~WritablePages() {
  make_read_only();
}

bool WritablePages::make_writable(const Mapping& mapping, uintptr_t begin, uintptr_t end) {
  if (mapping.is_private || !mapping.is_memory()) {
    why_not_ = mapping.file.empty() ? "it is memory of this process alone, which may not write it"
               : mapping.is_private ? concat("'", mapping.file, "' is mapped privately")
                                    : concat("'", mapping.file, "' is on ", mapping.file_system);
    return false;
  }
  const Pages pages{at(begin), end - begin};
  made_.reserve(made_.size() + 1);
  if (::mprotect(pages.begin, pages.bytes, PROT_READ | PROT_WRITE) != 0) {
    const Fd fd = open_file(mapping);
    if (!fd) {
      why_not_ = reason("cannot open for writing", mapping);
      return false;
    }
    const auto offset = static_cast<off_t>(mapping.offset + (begin - mapping.begin));
    if (::mmap(pages.begin, pages.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd.get(),
               offset) == MAP_FAILED) {
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
