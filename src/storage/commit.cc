#include "commit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/system/posix.h"
#include "temp_folder.h"

namespace ramet {

namespace {

constexpr unsigned kExchange = 2;  // as in linux/fs.h, which not every C library repeats

// 0 or an errno. The system call itself: musl has no function for it.
int exchange(const Target& target, const std::string& with) {
  const int folder = target.parent().fd();
  const long result =
      ::syscall(SYS_renameat2, folder, with.c_str(), folder, target.name().c_str(), kExchange);
  return result == 0 ? 0 : errno;
}

int rename_plainly(const Target& target, const std::string& from, const std::string& to) {
  const int folder = target.parent().fd();
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0 ? 0 : errno;
}

bool lacks_flags(int error) {
  return error == EINVAL || error == ENOSYS || error == ENOTSUP;
}

// There was something at the target where nothing was expected.
bool came_between(int error) {
  return error == EEXIST || error == ENOTEMPTY || error == ENOTDIR;
}

void sync_file(const Folder& folder, const std::string& name, const std::string& location) {
  const Fd fd(::openat(folder.fd(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) throw_errno(errno, "open", location);
  sync_to_disk(fd.get(), location);
}

void sync_parent(const Target& target) {
  sync_to_disk(target.parent().fd(), target.parent().location());
}

[[noreturn]] void rename_failed(int error, const Target& target, const std::string& temp) {
  throw_errno(error, "rename " + target.path_of(temp) + " to", target.path());
}

// The store at the target, locked, or nothing if there is nothing. Waits for the writer who put it
// there, until that one has removed the store before it. File systems without locks go without.
Fd lock_store(const Target& target) {
  while (std::optional<Folder> store = target.find_old()) {
    while (::flock(store->fd(), LOCK_EX) != 0 && errno == EINTR) {
    }
    if (target.is_at(target.name(), store->fd())) return std::move(*store).release();
  }
  return Fd();
}

// 0, or the errno of a try that found the target as it did not expect it.
int try_to_take_place(const Target& target, const std::string& temp, const Fd& old) {
  // Replaces nothing, or a folder that is empty: all else is EEXIST, ENOTEMPTY or ENOTDIR.
  if (!old) return rename_plainly(target, temp, target.name());
  const int error = exchange(target, temp);
  if (error != 0 || target.is_at(temp, old.get())) return error;
  // Somebody who takes no locks has put something else there in the meantime: it goes back.
  exchange(target, temp);
  return EEXIST;
}

}  // namespace

void sync_tree(const Folder& folder) {
  for (const std::string& name : folder.entries(/*dot_files=*/true)) {
    const std::string location = folder.location() + "/" + name;
    struct stat status{};
    if (::fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw_errno(errno, "inspect", location);
    if (S_ISDIR(status.st_mode))
      sync_tree(Folder(folder.fd(), name, location));
    else if (S_ISREG(status.st_mode))
      sync_file(folder, name, location);
  }
  sync_to_disk(folder.fd(), folder.location());
}

Fd take_place(const Target& target, const std::string& temp) {
  while (true) {
    Fd old = lock_store(target);
    const int error = try_to_take_place(target, temp, old);
    if (error == 0) {
      sync_parent(target);
      return old;
    }
    if (lacks_flags(error)) {
      old = Fd();  // or the other way would wait for this lock
      return take_place_in_two_steps(target, temp);
    }
    // Another writer or a removal came between the look and the rename: look again.
    if (!came_between(error) && (error != ENOENT || !target.exists(temp)))
      rename_failed(error, target, temp);
  }
}

Fd take_place_in_two_steps(const Target& target, const std::string& temp) {
  const std::string aside = temp_name(target);
  while (true) {
    Fd old = lock_store(target);
    int error = old ? rename_plainly(target, target.name(), aside) : 0;
    if (error == ENOENT) continue;
    if (error != 0) rename_failed(error, target, temp);
    error = rename_plainly(target, temp, target.name());
    if (error == 0) {
      sync_parent(target);
      if (old) rename_plainly(target, aside, temp);
      return old;
    }
    // Back, unless another writer has used the moment; its store is the newer one.
    const int back = old ? rename_plainly(target, aside, target.name()) : 0;
    if (back == EEXIST || back == ENOTEMPTY) {
      remove_tree(target.parent().fd(), aside.c_str());
    } else if (back != 0) {
      throw_errno(back,
                  "put back the old store, which now lies in " + target.path_of(aside) + ", to",
                  target.path());
    }
    if (!came_between(error)) rename_failed(error, target, temp);
  }
}

}  // namespace ramet
