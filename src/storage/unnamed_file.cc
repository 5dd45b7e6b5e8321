#include "unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int kMode = 0600;

// What file systems and kernels say that have no O_TMPFILE.
bool is_unknown(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOSYS;
}

Fd create_and_unlink(const std::string& folder) {
  const std::string path =
      concat(folder, "/.ramet-records-", ::getpid(), '-', std::to_string(random_bits()));
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!file) throw_errno(errno, "make a file in", folder);
  if (::unlink(path.c_str()) != 0) throw_errno(errno, "remove", path);
  return file;
}

}  // namespace

Fd create_unnamed_file(const std::string& folder) {
  check_path(folder);
  Fd file(::open(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, kMode));
  if (file) return file;
  if (!is_unknown(errno)) throw_errno(errno, "make a file in", folder);
  return create_and_unlink(folder);
}

Fd reopen(const Fd& file, int flags) {
  return Fd(::open(path_of(file).c_str(), flags | O_CLOEXEC));
}

std::string path_of(const Fd& file) {
  return concat("/proc/self/fd/", file.get());
}

}  // namespace ramet
