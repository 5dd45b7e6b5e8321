// Store over a sealed memfd.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/system/posix.h"
#include "manifest.h"
#include "mapped_file.h"
#include "ramet/error.h"
#include "ramet/store.h"
#include "segment.h"
#include "shape.h"
#include "table_dtypes.h"
#include "text.h"

namespace ramet {

namespace {

constexpr int64_t kMaxTocBytes = int64_t{64} << 20;

template <typename... Parts>
[[noreturn]] void fail(const Parts&... why) {
  throw_corrupt("segment", why...);
}

// What is not sealed could be cut short under its readers. Where it may be written is the maker's
// choice (seals_against_writing()); what is read is bounded anyway.
void check_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  const std::string which = concat("descriptor ", fd);
  if (seals < 0) fail(which, " is not of a segment in memory");
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  if ((seals & kNeeded) != kNeeded) fail(which, " is of memory that is not sealed");
}

int64_t read_toc_size(const InputFile& file) {
  if (file.size() < kSegmentTocOffset) fail("it has ", file.size(), " bytes, too few");
  const std::string head = file.read(0, kSegmentTocOffset);
  if (!std::string_view(head).starts_with(kSegmentMagic))
    fail("it begins with ", quoted(head.substr(0, kSegmentMagic.size())), ", not with ",
         kSegmentMagic);
  uint64_t size = 0;
  for (size_t i = head.size(); i-- > kSegmentMagic.size();)
    size = size << 8 | static_cast<unsigned char>(head[i]);
  const int64_t bound = std::min(kMaxTocBytes, file.size() - kSegmentTocOffset);
  if (size > uint64_t(bound))
    fail("table of contents of ", size, " bytes, at most ", bound, " are possible");
  return int64_t(size);
}

void check_bounds(const ArrayEntry& entry, int64_t toc_end, int64_t size) {
  const std::string array = concat("array ", entry.name, " at byte ", entry.offset, " ");
  if (entry.offset % kSegmentAlignment != 0)
    fail(array, "is not at a multiple of ", kSegmentAlignment);
  if (entry.offset < toc_end)
    fail(array, "overlaps the table of contents, which ends at ", toc_end);
  const int64_t bytes = array_bytes(entry.dtype, entry.shape);
  if (entry.offset > size || bytes > size - entry.offset)
    fail(array, "has ", bytes, " bytes, the segment ends at ", size);
}

// Arrays within the segment, after the table of contents, apart from each other, and nothing
// behind the last of them.
void check_layout(const std::vector<ArrayEntry>& arrays, int64_t toc_end, int64_t size) {
  std::vector<const ArrayEntry*> by_offset;
  for (const ArrayEntry& entry : arrays) {
    check_bounds(entry, toc_end, size);
    by_offset.push_back(&entry);
  }
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [](const auto* a, const auto* b) { return a->offset < b->offset; });
  int64_t end = toc_end;
  for (const ArrayEntry* entry : by_offset) {
    const int64_t bytes = array_bytes(entry->dtype, entry->shape);
    if (bytes > 0 && entry->offset < end)
      fail("array ", entry->name, " at byte ", entry->offset, " overlaps the array that ends at ",
           end);
    end = std::max(end, entry->offset + bytes);
  }
  if (end != size) fail("it has ", size, " bytes, its arrays end at ", end);
}

class SegmentStore final : public Store {
 public:
  SegmentStore(InputFile file, OpenMode mode) {
    identity_ = file.identity();
    const int64_t toc_size = read_toc_size(file);
    Manifest manifest = parse_manifest(file.read(kSegmentTocOffset, toc_size),
                                       ManifestForm::kSegment, "segment, table of contents");
    check_layout(manifest.arrays, kSegmentTocOffset + toc_size, file.size());
    const std::shared_ptr<std::byte> bytes = file.map(mode);
    for (ArrayEntry& entry : manifest.arrays)
      arrays_[entry.name] = {bytes.get() + entry.offset, entry.dtype, std::move(entry.shape), bytes,
                             mode == OpenMode::kCopyOnWrite};
    node_counts_ = std::move(manifest.node_counts);
    table_dtypes_ = std::move(manifest.table_dtypes);
    sorted_rows_ = std::move(manifest.sorted_rows);
    reverses_ = std::move(manifest.reverses);
    part_ = manifest.part;
    apply_table_dtypes(table_dtypes_, arrays_, [this](const auto& name) { return location(name); });
    fd_ = std::move(file).release();
    segment_fd_ = fd_.get();
  }

  [[nodiscard]] Array copy_on_write(const std::string& name) const override {
    static_cast<void>(array_of(name));
    return open_segment(segment_fd_, OpenMode::kCopyOnWrite)->arrays().at(name);
  }

 private:
  Fd fd_;
};

}  // namespace

std::shared_ptr<const Store> Store::open_segment(int fd, OpenMode mode) {
  Fd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) throw_errno(errno, "duplicate", "descriptor " + std::to_string(fd));
  check_sealed(own.get());
  return std::make_shared<const SegmentStore>(InputFile(std::move(own), "segment"), mode);
}

}  // namespace ramet
