#include "read_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system/space.h"
#include "direct_block.h"
#include "ramet/error.h"
#include "storage/mapped_file.h"

namespace ramet {
namespace {

Fd open_file(const RowSpan& span, int flags) {
  // O_NONBLOCK: a FIFO without a writer would block here for ever.
  Fd fd(::open(span.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  // But io_uring would take it for a wish to be refused rather than to wait.
  if (fd) ::fcntl(fd.get(), F_SETFL, flags);
  return fd;
}

void check_file(const Fd& fd, const RowSpan& span, int64_t row_bytes) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) throw_errno(errno, "inspect", span.path);
  if (!S_ISREG(status.st_mode)) throw_corrupt(span.path, "it is not a regular file");
  const Identity identity{status.st_dev, status.st_ino};
  if (span.identity != Identity{0, 0} && span.identity != identity)
    throw_corrupt(span.path, "the file was replaced by another");
  int64_t end = 0;
  if (span.offset < 0 || span.num_rows < 0 ||
      __builtin_mul_overflow(span.num_rows, row_bytes, &end) ||
      __builtin_add_overflow(end, span.offset, &end))
    throw_invalid("no file has ", span.num_rows, " rows of ", row_bytes, " bytes from byte ",
                  span.offset, " on, as is said of ", span.path);
  if (end > status.st_size)
    throw_corrupt(span.path, "the file has ", status.st_size, " bytes, its ", span.num_rows,
                  " rows end at ", end);
}

// No block where one of the files cannot be read past the page cache.
ReadFiles open_direct(std::span<const RowSpan> spans) {
  ReadFiles result{.files = {}, .direct = true, .block = 1};
  for (const RowSpan& span : spans) {
    Fd fd = is_in_memory(span.path) ? Fd() : open_file(span, O_DIRECT);
    const int64_t block = fd ? direct_block(fd.get()) : 0;
    if (block == 0) return {};
    result.block = std::max(result.block, block);
    result.files.push_back(std::move(fd));
  }
  return result;
}

ReadFiles open_buffered(std::span<const RowSpan> spans) {
  ReadFiles result;
  for (const RowSpan& span : spans) {
    Fd fd = open_file(span, 0);
    if (!fd) throw_errno(errno, "open", span.path);
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);  // reads no page that nobody asked for
    result.files.push_back(std::move(fd));
  }
  return result;
}

}  // namespace

ReadFiles open_to_read_rows(std::span<const RowSpan> spans, int64_t row_bytes, bool direct) {
  for (const RowSpan& span : spans)
    check_path(span.path);
  ReadFiles result;
  if (direct && !spans.empty()) result = open_direct(spans);
  if (!result.direct) result = open_buffered(spans);
  for (size_t i = 0; i < spans.size(); ++i)
    check_file(result.files[i], spans[i], row_bytes);
  return result;
}

}  // namespace ramet
