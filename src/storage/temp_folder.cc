// Who may remove a temporary folder is decided by an flock on it, which the kernel drops with its
// holder. A lock is on a folder, not on a name, and names move: so whoever has locked a folder
// looks whether the name still is that folder's. The writer, since a cleaner may have been faster;
// the cleaner, since the folder may by now be the finished store. The old store gets a temporary
// name by the exchange; its writer has locked it before (commit.cc).
#include "temp_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "ramet/error.h"

namespace ramet {

namespace {

constexpr int kRandomDigits = 16;

std::string prefix_of(const Target& target) {
  return "." + target.name() + ".ramet-tmp-";
}

std::string random_digits() {
  uint64_t value = 0;
  while (::getrandom(&value, sizeof value, 0) != ssize_t(sizeof value))
    if (errno != EINTR) throw_errno(errno, "read", "random bytes");
  std::string digits;
  for (int i = 0; i < kRandomDigits; ++i)
    digits += "0123456789abcdef"[value >> 4 * i & 15];
  return digits;
}

// "<digits>-<16 hexadecimal digits>": nothing but our own folders is ever removed.
bool is_temp_suffix(std::string_view suffix) {
  const size_t dash = suffix.find('-');
  if (dash == 0 || dash == suffix.npos || suffix.size() - dash - 1 != kRandomDigits) return false;
  return suffix.substr(0, dash).find_first_not_of("0123456789") == suffix.npos &&
         suffix.substr(dash + 1).find_first_not_of("0123456789abcdef") == suffix.npos;
}

enum class IfUnsupported { kGoOn, kLeave };

// The locked folder, or nothing if somebody else holds it, it is gone or it is no folder. Some
// network file systems lock no folders: a writer then goes on without, and no cleaner, who could
// not know that the writer lives, touches its folder.
Fd lock_folder(const Target& target, const std::string& name, IfUnsupported if_unsupported) {
  Fd fd(::openat(target.parent().fd(), name.c_str(),
                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Fd();
  const bool locked = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && (errno == EWOULDBLOCK || if_unsupported == IfUnsupported::kLeave)) return Fd();
  return target.is_at(name, fd.get()) ? std::move(fd) : Fd();
}

}  // namespace

std::string temp_name(const Target& target) {
  return prefix_of(target) + std::to_string(::getpid()) + "-" + random_digits();
}

TempFolder::TempFolder(const Target& target) : target_(target) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    name_ = temp_name(target);
    if (::mkdirat(target.parent().fd(), name_.c_str(), 0777) != 0)
      throw_errno(errno, "create", path());
    lock_ = lock_folder(target, name_, IfUnsupported::kGoOn);
    if (lock_) return;
    ::unlinkat(target.parent().fd(), name_.c_str(), AT_REMOVEDIR);
  }
  throw Error(ErrorCode::kIo, "cannot lock a folder in " + target.parent().place());
}

TempFolder::~TempFolder() {
  remove_tree(path());
}

void remove_stale(const Target& target) {
  const std::string prefix = prefix_of(target);
  for (const std::string& name : target.parent().entries(/*dot_files=*/true)) {
    if (!name.starts_with(prefix) || !is_temp_suffix(std::string_view(name).substr(prefix.size())))
      continue;
    if (const Fd lock = lock_folder(target, name, IfUnsupported::kLeave))
      remove_tree(target.path_of(name));
  }
}

void remove_tree(const std::string& path) noexcept {
  constexpr int kAttempts = 10;
  std::error_code error;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::filesystem::remove_all(path, error);
    if (!error) return;
  }
}

}  // namespace ramet
