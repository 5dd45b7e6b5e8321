#include "target.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "array_name.h"
#include "base/system/posix.h"
#include "manifest.h"
#include "mapped_file.h"
#include "ramet/error.h"
#include "ramet/store_writer.h"
#include "text.h"

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

std::string without_trailing_slashes(std::string path) {
  check_path(path);
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

std::pair<std::string, std::string> locate(const std::string& path) {
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

bool begins_with(std::string_view magic, const InputFile& file) {
  return file.read(0, std::min<int64_t>(file.size(), int64_t(magic.size()))) == magic;
}

bool is_of(const FolderKind& kind, const Folder& folder) {
  try {
    const std::string location = folder.location() + "/" + kind.text;
    return begins_with(kind.magic, InputFile(folder.fd(), kind.text, location));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    return false;
  }
}

// A store with a store in it could not be opened. `folder` has no links in it; what may not be read
// is no store of this user.
void check_not_inside_store(std::string folder, const std::string& path) {
  while (true) {
    bool found = false;
    try {
      const std::string location = folder + "/" + store_folder().text;
      found = begins_with(store_folder().magic, InputFile(AT_FDCWD, location, location));
    } catch (const Error&) {
    }
    if (found)
      throw_invalid(path, " lies in the store ", folder, ", which could not be opened with it");
    if (folder == "/") return;
    folder = split_path(folder).first;
  }
}

bool is_folder(const Folder& around, const std::string& entry) {
  struct stat status{};
  if (::fstatat(around.fd(), entry.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    throw_errno(errno, "inspect", around.location() + "/" + entry);
  return S_ISDIR(status.st_mode);
}

// Files of somebody else would go with the folder. `inside`: where it lies in one of the kind.
void check_nothing_foreign(const FolderKind& kind,
                           const Folder& folder,
                           const std::string& inside = "") {
  for (const std::string& entry : folder.entries()) {
    const std::string path = inside + entry;
    const bool is_inner = is_folder(folder, entry);
    if (!(is_inner ? kind.has_folder(path) : kind.has_file(path)))
      throw_invalid(folder.location(), " holds ", quoted(entry), ", which is no part of ",
                    kind.what, "; it is not replaced");
    if (is_inner)
      check_nothing_foreign(kind, Folder(folder.fd(), entry, folder.location() + "/" + entry),
                            path + "/");
  }
}

// The nearest folder around `path` that is there, without links.
std::string nearest_folder(const std::string& path) {
  const std::string parent = split_path(path).first;
  const std::string folder = resolve(parent);
  return folder.empty() ? nearest_folder(parent) : folder;
}

bool store_has_file(std::string_view path) {
  constexpr std::string_view kSuffix = ".npy";
  if (path == "ramet.txt" || path == "checksums.txt") return true;
  return path.ends_with(kSuffix) &&
         array_name_problem(path.substr(0, path.size() - kSuffix.size())).empty();
}

bool store_has_folder(std::string_view path) {
  return is_array_folder(path) || array_name_problem(std::string(path) + "/any").empty();
}

bool is_part(std::string_view name) {
  constexpr std::string_view kPart = "part-";
  return name.starts_with(kPart) && parse_count(name.substr(kPart.size())).has_value();
}

// The part that `path` lies in, and its path there, "" of the part itself.
std::pair<std::string_view, std::string_view> split_part(std::string_view path) {
  const size_t slash = path.find('/');
  return {path.substr(0, slash), slash == path.npos ? "" : path.substr(slash + 1)};
}

bool parts_have_file(std::string_view path) {
  if (path == "parts.json" || path == "checksums.txt") return true;
  const auto [part, inside] = split_part(path);
  return is_part(part) && store_has_file(inside);
}

bool parts_have_folder(std::string_view path) {
  const auto [part, inside] = split_part(path);
  return is_part(part) && (inside.empty() || store_has_folder(inside));
}

}  // namespace

const FolderKind& store_folder() {
  static constexpr FolderKind kKind{"a store", "ramet.txt", kManifestMagic, &store_has_file,
                                    &store_has_folder};
  return kKind;
}

const FolderKind& parts_folder() {
  static constexpr FolderKind kKind{"a folder of parts", "parts.json", kPartsMagic,
                                    &parts_have_file, &parts_have_folder};
  return kKind;
}

Target::Target(const std::string& path, const FolderKind& kind)
    : Target(locate(without_trailing_slashes(path)), kind) {
  check_not_inside_store(parent_.location(), this->path());
  static_cast<void>(find_old());
}

Target::Target(std::pair<std::string, std::string> parent_and_name, const FolderKind& kind)
    : kind_(&kind),
      parent_(AT_FDCWD, parent_and_name.first, parent_and_name.first),
      name_(std::move(parent_and_name.second)) {}

std::string Target::path_of(const std::string& name) const {
  return parent_.location() + (parent_.location() == "/" ? "" : "/") + name;
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
std::optional<Folder> Target::find_old() const {
  while (exists(name_)) {
    try {
      Folder folder(parent_.fd(), name_, path());
      if (is_of(*kind_, folder)) {
        check_nothing_foreign(*kind_, folder);
        return folder;
      }
      const bool is_empty = folder.entries(/*dot_files=*/true).empty();
      if (!is_link(parent_.fd(), name_)) {
        if (!is_at(name_, folder.fd())) continue;
        if (is_empty) return std::nullopt;
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kNotFound && !is_link(parent_.fd(), name_)) continue;
      if (error.code() == ErrorCode::kIo || error.code() == ErrorCode::kInvalidArgument) throw;
    }
    throw_invalid(path(), " is there and is not ", kind_->what, "; it is not replaced");
  }
  return std::nullopt;
}

std::optional<mode_t> Target::mode() const {
  struct stat status{};
  if (::fstatat(parent_.fd(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_errno(errno, "inspect", path());
  }
  return status.st_mode & kModeBits;
}

void make_parents(const std::string& path) {
  const std::string parent = split_path(without_trailing_slashes(path)).first;
  if (!resolve(parent).empty()) return;
  make_parents(parent);
  if (::mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST) throw_errno(errno, "create", parent);
  const std::string around = split_path(parent).first;
  const Folder folder(AT_FDCWD, around, around);
  sync_to_disk(folder.fd(), around);
}

void check_target(const std::string& path) {
  const std::string name = without_trailing_slashes(path);
  const std::string parent = split_path(name).first;
  if (!resolve(parent).empty()) {
    static_cast<void>(Target(name));
    return;
  }
  const std::string folder = nearest_folder(parent);
  check_not_inside_store(folder, name);
  static_cast<void>(Folder(AT_FDCWD, folder, folder));
}

}  // namespace ramet
