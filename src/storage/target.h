// The path where a store, or a folder of parts, is to be written.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "folder.h"

namespace ramet {

inline constexpr mode_t kModeBits = 07777;

// What may be replaced there: a folder with this text, in which nothing is a stranger's.
struct FolderKind {
  const char* what;
  const char* text;                           // the name of a file
  const char* magic;                          // which begins with this, in every version
  bool (*has_file)(std::string_view path);    // whether a file inside may have this path,
  bool (*has_folder)(std::string_view path);  // and a folder this one
};
inline constexpr const char* kPartsMagic = "{\n  \"ramet-parts\": ";
[[nodiscard]] const FolderKind& store_folder();
[[nodiscard]] const FolderKind& parts_folder();

// A name in a folder that is there; links in the path are followed, also a link to a store.
class Target {
 public:
  // Throws kNotFound if the folder around `path` is missing; kInvalidArgument if what stands at
  // `path` is neither of the kind nor an empty folder, and if it lies inside of a store.
  explicit Target(const std::string& path, const FolderKind& kind = store_folder());

  [[nodiscard]] const Folder& parent() const { return parent_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] std::string path() const { return path_of(name_); }

  // Whether there is something at this name of the parent folder, be it a broken link.
  [[nodiscard]] bool exists(const std::string& name) const;
  // Whether this name of the parent folder is that of the open folder `fd`.
  [[nodiscard]] bool is_at(const std::string& name, int fd) const;
  // The folder of the kind at the target, nothing if there is nothing or an empty folder. Throws
  // kInvalidArgument if there is anything else.
  [[nodiscard]] std::optional<Folder> find_old() const;
  // The permissions of the folder at the target, if there is one.
  [[nodiscard]] std::optional<mode_t> mode() const;

 private:
  Target(std::pair<std::string, std::string> parent_and_name, const FolderKind& kind);

  const FolderKind* kind_;
  Folder parent_;
  std::string name_;
};

// Makes the folders around `path` that are missing.
void make_parents(const std::string& path);

}  // namespace ramet
