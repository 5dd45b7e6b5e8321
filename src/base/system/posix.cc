#include "posix.h"

#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "ramet/error.h"

namespace ramet {

namespace {

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return ErrorCode::kNoSpace;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Fd::~Fd() {
  if (fd_ < 0) return;
  // A lock lives as long as any copy of its descriptor, also one that a forked child inherited.
  ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

int64_t page_size() {
  return ::sysconf(_SC_PAGESIZE);
}

int64_t size_now(int fd, const std::string& location) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) throw_errno(errno, "inspect", location);
  return status.st_size;
}

Error error_of(int error, const std::string& what, const std::string& location) {
  return {code_of(error),
          "cannot " + what + " " + location + ": " + std::generic_category().message(error), error};
}

void throw_errno(int error, const std::string& what, const std::string& location) {
  throw error_of(error, what, location);
}

void check_path(const std::string& path) {
  if (path.empty()) throw_invalid("the path of the store is empty");
  if (path.find('\0') != std::string::npos) throw_invalid("the path of the store holds a NUL byte");
}

uint64_t random_bits() {
  uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != ssize_t(sizeof bits))
    if (errno != EINTR) throw_errno(errno, "read", "random bytes");
  return bits;
}

void sync_to_disk(int fd, const std::string& location) {
  while (::fsync(fd) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOTSUP) return;
    throw_errno(errno, "sync", location);
  }
}

}  // namespace ramet
