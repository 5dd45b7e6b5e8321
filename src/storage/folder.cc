#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "ramet/error.h"

namespace ramet {

Folder::Folder(int at, const std::string& name, std::string location)
    : fd_(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      location_(std::move(location)) {
  if (fd_) return;
  const int error = errno;
  struct stat status{};
  if (error == ENOTDIR && ::fstatat(at, name.c_str(), &status, 0) == 0)
    throw_error(ErrorCode::kCorrupt, location_, " is not a folder");
  throw_errno(error, "open", location_);
}

Identity Folder::identity() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) throw_errno(errno, "inspect", location_);
  return {status.st_dev, status.st_ino};
}

std::vector<std::string> Folder::entries(bool dot_files) const {
  // A descriptor of its own: the stream takes it over, and its position is nobody else's.
  const int fd = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_errno(errno, "read", location_);
  DIR* const opened = ::fdopendir(fd);
  if (opened == nullptr) {
    const int error = errno;
    ::close(fd);
    throw_errno(error, "read", location_);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened, &::closedir);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && (dot_files || name[0] != '.')) names.push_back(name);
    errno = 0;
  }
  if (errno != 0) throw_errno(errno, "read", location_);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ramet
