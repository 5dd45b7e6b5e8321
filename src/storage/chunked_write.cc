#include "chunked_write.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "base/system/posix.h"
#include "ramet/pages.h"

namespace ramet {

namespace {

constexpr int64_t kChunkBytes = int64_t{2} << 20;

// Both parts with one write(2) where the system takes them whole.
void write_all(int fd, int64_t offset, iovec (&parts)[2], const std::string& location) {
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    const ssize_t wrote = ::pwritev(fd, parts, 2, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw_errno(errno, "write", location);
    offset += wrote;
    auto left = static_cast<size_t>(wrote);
    for (iovec& part : parts) {
      const size_t taken = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + taken;
      part.iov_len -= taken;
      left -= taken;
    }
  }
}

}  // namespace

void write_chunks(int fd,
                  int64_t offset,
                  std::string_view head,
                  const void* data,
                  int64_t size,
                  const std::string& location,
                  ProgressCount& count) {
  // An empty array may have no address, and nothing is to be added to none.
  const char* next = size > 0 ? static_cast<const char*>(data) : "";
  do {
    const int64_t chunk_end = (offset / kChunkBytes + 1) * kChunkBytes;
    const int64_t room = std::max<int64_t>(chunk_end - offset - int64_t(head.size()), 0);
    const int64_t take = std::min(size, room);
    iovec parts[2] = {{const_cast<char*>(head.data()), head.size()},
                      {const_cast<char*>(next), static_cast<size_t>(take)}};
    read_ahead(next, take);
    write_all(fd, offset, parts, location);
    offset += int64_t(head.size()) + take;
    next += take;
    size -= take;
    head = {};
    count.add(take);
  } while (size > 0);
}

}  // namespace ramet
