#include "target.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "manifest.h"
#include "mapped_file.h"
#include "ramet/error.h"

namespace ramet {

namespace {

// The path without links, "" if there is nothing.
std::string resolve(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real) return real.get();
  if (errno != ENOENT) throw_errno(errno, "resolve", path);
  return "";
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  if (path == "/") return {"/", "."};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::pair<std::string, std::string> locate(std::string path) {
  check_path(path);
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  const std::string existing = resolve(path);
  if (!existing.empty()) return split_path(existing);
  auto [parent, name] = split_path(path);
  const std::string folder = resolve(parent);
  if (folder.empty())
    throw Error(ErrorCode::kNotFound, "cannot write " + path + ": there is no folder " + parent,
                ENOENT);
  return {folder, name};
}

bool is_link(int folder, const std::string& name) {
  struct stat status{};
  return ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

bool begins_like_manifest(const Folder& folder) {
  try {
    const InputFile file(folder.fd(), "ramet.txt", folder.place() + "/ramet.txt");
    const std::string_view magic = kManifestMagic;
    return file.read(0, std::min<int64_t>(file.size(), int64_t(magic.size()))) == magic;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    return false;
  }
}

}  // namespace

Target::Target(const std::string& path) : Target(locate(path)) {
  static_cast<void>(find_store());
}

Target::Target(std::pair<std::string, std::string> parent_and_name)
    : parent_(AT_FDCWD, parent_and_name.first, parent_and_name.first),
      name_(std::move(parent_and_name.second)) {}

std::string Target::path_of(const std::string& name) const {
  return parent_.place() + (parent_.place() == "/" ? "" : "/") + name;
}

bool Target::exists(const std::string& name) const {
  struct stat status{};
  if (::fstatat(parent_.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno != ENOENT) throw_errno(errno, "inspect", path_of(name));
  return false;
}

bool Target::is_at(const std::string& name, int fd) const {
  struct stat by_name{}, by_fd{};
  return ::fstatat(parent_.fd(), name.c_str(), &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &by_fd) == 0 && by_name.st_dev == by_fd.st_dev &&
         by_name.st_ino == by_fd.st_ino;
}

// Another writer may replace the store, and remove the old one, while it is looked at: what is
// seen counts only if the folder still stands there afterwards.
std::optional<Folder> Target::find_store() const {
  while (exists(name_)) {
    try {
      Folder folder(parent_.fd(), name_, path());
      if (begins_like_manifest(folder)) return folder;
      if (!is_at(name_, folder.fd())) continue;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kNotFound && !is_link(parent_.fd(), name_)) continue;
      if (error.code() == ErrorCode::kIo) throw;
    }
    throw Error(ErrorCode::kInvalidArgument,
                path() + " is there and is not a store; it is not replaced");
  }
  return std::nullopt;
}

}  // namespace ramet
