// Who may remove a temporary folder is decided by an flock on it, which the kernel drops with its
// holder. A lock is on a folder, not on a name, and names move: so whoever has locked a folder
// looks whether the name still is that folder's. The writer, since a cleaner may have been faster;
// the cleaner, since the folder may by now be the finished store. The old store gets a temporary
// name by the exchange; its writer has locked it before (commit.cc).
#include "temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "ramet/error.h"
#include "text.h"

namespace ramet {

namespace {

constexpr int kRandomDigits = 16;

std::string prefix_of(const Target& target) {
  return "." + target.name() + ".ramet-tmp-";
}

// "<digits>-<16 hexadecimal digits>": nothing but our own folders is ever removed.
bool is_temp_suffix(std::string_view suffix) {
  const size_t dash = suffix.find('-');
  if (dash == 0 || dash == suffix.npos || suffix.size() - dash - 1 != kRandomDigits) return false;
  return suffix.substr(0, dash).find_first_not_of("0123456789") == suffix.npos &&
         suffix.substr(dash + 1).find_first_not_of("0123456789abcdef") == suffix.npos;
}

bool remove_once(int parent, const char* name) noexcept;

// Takes over `folder`. Whether nothing is left in it.
bool remove_entries(int folder) noexcept {
  DIR* const stream = ::fdopendir(folder);
  if (stream == nullptr) {
    ::close(folder);
    return false;
  }
  bool empty = true;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") empty = remove_once(folder, entry->d_name) && empty;
  }
  ::closedir(stream);
  return empty;
}

// Whether nothing has that name any more.
bool remove_once(int parent, const char* name) noexcept {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return true;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno == ENOENT;
  if (!remove_entries(folder)) return false;
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
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
  return concat(prefix_of(target), ::getpid(), "-", hex(random_bits()));
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
  throw_error(ErrorCode::kIo, "cannot lock a folder in ", target.parent().location());
}

TempFolder::~TempFolder() {
  remove_tree(target_.parent().fd(), name_.c_str());
}

void TempFolder::set_mode(mode_t mode) const {
  struct stat status{};
  if (::fstat(fd(), &status) != 0) throw_errno(errno, "inspect", path());
  if ((status.st_mode & kModeBits) == mode) return;
  if (::fchmod(fd(), mode) != 0) throw_errno(errno, "set the mode of", path());
}

void remove_stale(const Target& target) {
  const std::string prefix = prefix_of(target);
  for (const std::string& name : target.parent().entries(/*dot_files=*/true)) {
    if (!name.starts_with(prefix) || !is_temp_suffix(std::string_view(name).substr(prefix.size())))
      continue;
    if (const Fd lock = lock_folder(target, name, IfUnsupported::kLeave))
      remove_tree(target.parent().fd(), name.c_str());
  }
}

void remove_tree(int parent, const char* name) noexcept {
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    if (remove_once(parent, name)) return;
}

}  // namespace ramet
