#include "memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ramet/error.h"

namespace ramet {

Fd create_memory_file(const std::string& location) {
  // Newer kernels ask to be told that it is not to be executed; older ones do not know the flag.
  constexpr unsigned kNoExecSeal = 8;
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Fd fd(::memfd_create("ramet", kFlags | kNoExecSeal));
  if (!fd && errno == EINVAL) fd = Fd(::memfd_create("ramet", kFlags));
  if (!fd) throw_errno(errno, "create", location);
  return fd;
}

// In pieces, since a signal makes the kernel undo the piece at hand.
void reserve(int fd, int64_t offset, int64_t size, const std::string& location) {
  constexpr int64_t kPiece = int64_t{64} << 20;
  while (size > 0) {
    const int64_t piece = std::min(size, kPiece);
    const int error = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(piece));
    if (error == EINTR) continue;
    if (error != 0) throw_errno(error, concat("reserve ", size, " bytes of"), location);
    offset += piece;
    size -= piece;
  }
}

void seal(int fd, int seals, const std::string& location) {
  if (::fcntl(fd, F_ADD_SEALS, seals) != 0) throw_errno(errno, "seal", location);
}

bool seals_against_writing(const std::string& root) {
  const auto is_there = [&](const char* path) {
    return ::access((root + path).c_str(), F_OK) == 0;
  };
  return !is_there("/proc/driver/nvidia/version") && !is_there("/dev/dxg");
}

}  // namespace ramet
