// The place where a store is to be written.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "folder.h"

namespace ramet {

inline constexpr mode_t kModeBits = 07777;

// A name in a folder that is there; links in the path are followed, also a link to a store.
class Target {
 public:
  // Throws kNotFound if the folder around `path` is missing; kInvalidArgument if what stands at
  // `path` is neither a store nor an empty folder, and if it lies inside of a store.
  explicit Target(const std::string& path);

  [[nodiscard]] const Folder& parent() const { return parent_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] std::string path() const { return path_of(name_); }

  // Whether there is something at this name of the parent folder, be it a broken link.
  [[nodiscard]] bool exists(const std::string& name) const;
  // Whether this name of the parent folder is that of the open folder `fd`.
  [[nodiscard]] bool is_at(const std::string& name, int fd) const;
  // The store at the target, nothing if there is nothing or an empty folder. Throws
  // kInvalidArgument if there is anything else; a store is a folder with a ramet.txt, of whatever
  // version, and with nothing that is no part of a store.
  [[nodiscard]] std::optional<Folder> find_store() const;
  // The permissions of the folder at the target, if there is one.
  [[nodiscard]] std::optional<mode_t> mode() const;

 private:
  explicit Target(std::pair<std::string, std::string> parent_and_name);

  Folder parent_;
  std::string name_;
};

// Makes the folders around `path` that are missing.
void make_parents(const std::string& path);

}  // namespace ramet
