// make_segment: contents copied into a sealed memfd.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system/posix.h"
#include "base/system/space.h"
#include "chunked_write.h"
#include "huge_pages.h"
#include "manifest.h"
#include "memory_file.h"
#include "ramet/error.h"
#include "ramet/store_writer.h"
#include "segment.h"
#include "shape.h"
#include "store_contents.h"
#include "table_dtypes.h"

namespace ramet {

namespace {

const std::string kSegmentLocation = "a segment in memory";

struct Layout {
  std::string head;                // magic, length and table of contents
  std::vector<ArrayEntry> arrays;  // in the order of the contents
  int64_t needed = 0;              // bytes in whole pages, holes not counted
};

// Offsets stand in the table of contents that stands before them, so room is made for the longest
// text that they can have.
int64_t longest_toc(Manifest manifest) {
  for (ArrayEntry& entry : manifest.arrays)
    entry.offset = int64_t{1} << 62;
  return int64_t(print_manifest(manifest).size());
}

std::string print_head(const Manifest& manifest) {
  const std::string toc = print_manifest(manifest);
  std::string head(kSegmentMagic);
  for (int i = 0; i < 8; ++i)
    head += static_cast<char>(toc.size() >> 8 * i & 255);
  return head + toc;
}

Layout lay_out(const StoreContents& contents) {
  Manifest manifest{contents.node_counts,
                    table_dtypes(contents),
                    contents.sorted_rows,
                    contents.reverses,
                    contents.part,
                    std::nullopt,
                    {}};
  for (const auto& [name, array] : contents.arrays)
    manifest.arrays.push_back({name, array.dtype, array.shape, 0});
  int64_t end = round_up(kSegmentTocOffset + longest_toc(manifest), kSegmentAlignment);
  int64_t needed = end;
  for (ArrayEntry& entry : manifest.arrays) {
    const int64_t bytes = array_bytes(entry.dtype, entry.shape);
    entry.offset = round_up(end, bytes >= kHugeAlignment ? kHugeAlignment : kSegmentAlignment);
    end = entry.offset + bytes;
    needed += round_up(bytes, kSegmentAlignment);
  }
  return {print_head(manifest), std::move(manifest.arrays), needed};
}

// Older kernels refuse a shared mapping of a write-sealed memfd through a descriptor that was
// opened for writing.
Fd reopen_read_only(int fd) {
  const std::string path = concat("/proc/self/fd/", fd);
  Fd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only) throw_errno(errno, "reopen", kSegmentLocation + " by " + path);
  return read_only;
}

// An array without bytes at the end still needs the file to reach its offset.
void set_size(int fd, const Layout& layout) {
  int64_t size = int64_t(layout.head.size());
  for (const ArrayEntry& entry : layout.arrays)
    size = std::max(size, entry.offset + array_bytes(entry.dtype, entry.shape));
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0)
    throw_errno(errno, "resize", kSegmentLocation);
}

}  // namespace

std::shared_ptr<const Store> make_segment(const StoreContents& contents, const Progress& progress) {
  if (!contents.to_fill.empty()) throw_invalid("a segment has arrays that are still to be filled");
  check_contents(contents);
  const Layout layout = lay_out(contents);
  require_memory(layout.needed, kSegmentLocation);
  const Fd fd = create_memory_file(kSegmentLocation);
  set_size(fd.get(), layout);
  reserve(fd.get(), 0, int64_t(layout.head.size()), kSegmentLocation);
  for (const ArrayEntry& entry : layout.arrays) {
    const int64_t bytes = array_bytes(entry.dtype, entry.shape);
    reserve_huge_pages(fd.get(), entry.offset, bytes);
    reserve(fd.get(), entry.offset, bytes, kSegmentLocation);
  }

  ProgressCount count(progress, contents.bytes());
  write_chunks(fd.get(), 0, layout.head, nullptr, 0, kSegmentLocation, count);
  for (size_t i = 0; i < layout.arrays.size(); ++i) {
    const Array& array = contents.arrays[i].second;
    write_chunks(fd.get(), layout.arrays[i].offset, {}, array.data, array.bytes(), kSegmentLocation,
                 count);
  }
  const int against_writing = seals_against_writing() ? F_SEAL_WRITE : 0;
  seal(fd.get(), F_SEAL_SHRINK | F_SEAL_GROW | against_writing | F_SEAL_SEAL, kSegmentLocation);
  return Store::open_segment(reopen_read_only(fd.get()).get());
}

}  // namespace ramet
