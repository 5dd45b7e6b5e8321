// Shared memory with the bytes of a segment, also of a damaged one.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/system/posix.h"

namespace ramet::test {

// Open for reading.
inline Fd segment_memory(const std::string& bytes, bool sealed = true) {
  const Fd fd(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  Fd read_only;
  if (::write(fd.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()) &&
      (!sealed || ::fcntl(fd.get(), F_ADD_SEALS, kSeals) == 0))
    read_only =
        Fd(::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only) throw_errno(errno, "fill", "shared memory");
  return read_only;
}

}  // namespace ramet::test
