// Which files an array is mapped from: the kernel is asked, so no mapping need remember its file.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system/memory_map.h"
#include "base/system/posix.h"
#include "ramet/error.h"
#include "ramet/row_reader.h"

namespace ramet {
namespace {

// File systems such as overlayfs and btrfs give a file other numbers here than stat() does. So the
// file is mapped again, and what the kernel says of both is compared.
bool maps_the_same(const Fd& fd, const MappedRange& mapping) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const again = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (again == MAP_FAILED) return false;
  const auto found = mapped_ranges(again, static_cast<int64_t>(page));
  ::munmap(again, page);
  return found.size() == 1 && found[0].device == mapping.device && found[0].inode == mapping.inode;
}

[[noreturn]] void throw_gone(const MappedRange& mapping) {
  throw Error(ErrorCode::kNotFound,
              mapping.path + ": the file that rows are mapped from is not there any more", ENOENT);
}

struct stat inspect_same(const MappedRange& mapping) {
  const Fd fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!fd && errno != ENOENT && errno != ENOTDIR) throw_errno(errno, "open", mapping.path);
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) throw_gone(mapping);
  char device[32];
  std::snprintf(device, sizeof device, "%02x:%02x", major(status.st_dev), minor(status.st_dev));
  const bool same = mapping.device == device && mapping.inode == status.st_ino;
  if (!same && !maps_the_same(fd, mapping)) throw_gone(mapping);
  return status;
}

void check_mapping(const MappedRange& mapping) {
  const bool is_file = mapping.inode != 0 && mapping.path.starts_with('/') &&
                       !mapping.path.starts_with("/memfd:") &&
                       !mapping.path.starts_with("/dev/zero");
  if (!is_file) throw_invalid("the rows are in memory, and not of a file");
  if (mapping.permissions.size() > 1 && mapping.permissions[1] == 'w')
    throw_invalid("rows of ", mapping.path, " are mapped to be written: the file may hold others");
}

// The rows that lie in `mapping` as a whole, and before the end of the file.
RowSpan span_in(const MappedRange& mapping, const Array& rows) {
  const struct stat status = inspect_same(mapping);
  const auto data = reinterpret_cast<int64_t>(rows.data);
  const int64_t width = rows.row_bytes();
  const auto begin = static_cast<int64_t>(mapping.begin), end = static_cast<int64_t>(mapping.end);
  const int64_t first = begin <= data ? 0 : (begin - data + width - 1) / width;
  const int64_t offset = mapping.offset + data + first * width - begin;
  const int64_t bytes = std::min(end - data - first * width, status.st_size - offset);
  return {.path = mapping.path,
          .offset = offset,
          .num_rows = std::clamp<int64_t>(bytes / width, 0, rows.rows() - first),
          .first_row = first,
          .identity = {status.st_dev, status.st_ino}};
}

}  // namespace

std::vector<RowSpan> files_of(const Array& rows) {
  std::vector<RowSpan> spans;
  if (rows.bytes() == 0) return spans;
  const auto mappings = mapped_ranges(rows.data, rows.bytes());
  if (mappings.empty()) throw_invalid("the system does not say where the rows are mapped from");
  for (const MappedRange& mapping : mappings) {
    if (mapping.is_reserved()) continue;
    check_mapping(mapping);
    const RowSpan span = span_in(mapping, rows);
    if (span.num_rows > 0) spans.push_back(span);
  }
  return spans;
}

}  // namespace ramet
