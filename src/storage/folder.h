// A folder held open: what is read through it is of one folder, also while its name moves on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/system/posix.h"

namespace ramet {

class Folder {
 public:
  // `name` relative to the descriptor `at` (or AT_FDCWD); `location` is how errors name the folder.
  // kNotFound if there is nothing, kCorrupt if it is no folder.
  Folder(int at, const std::string& name, std::string location);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& location() const { return location_; }
  [[nodiscard]] Identity identity() const;

  // Names of what is in it, sorted, dot files left out unless asked for.
  [[nodiscard]] std::vector<std::string> entries(bool dot_files = false) const;

  // Gives up the descriptor, for a caller that keeps it.
  [[nodiscard]] Fd release() && { return std::move(fd_); }

 private:
  Fd fd_;
  std::string location_;
};

}  // namespace ramet
