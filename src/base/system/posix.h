// Descriptors that close themselves, and errno as an Error.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ramet/error.h"

namespace ramet {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Device and inode: which file or folder it is, whatever its name.
using Identity = std::pair<uint64_t, uint64_t>;

// The Error of `error` (an errno): "cannot <what> <location>: <reason>".
[[nodiscard]] Error error_of(int error, const std::string& what, const std::string& location);
// Throws it.
[[noreturn]] void throw_errno(int error, const std::string& what, const std::string& location);

[[nodiscard]] int64_t page_size();

// Bytes of an open file, by now.
[[nodiscard]] int64_t size_now(int fd, const std::string& location);

// Throws kInvalidArgument if `path` is empty or holds a NUL, which the system would cut it at.
void check_path(const std::string& path);

// Random bits of the kernel.
[[nodiscard]] uint64_t random_bits();

// fsync; file systems that do not know it for this kind of file are excused.
void sync_to_disk(int fd, const std::string& location);

}  // namespace ramet
