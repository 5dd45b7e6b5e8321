// The hidden folder beside a target in which a store is prepared, and the cleaning up of those
// that killed writers left: ".<name>.ramet-tmp-<pid>-<random>".
#pragma once

#include <sys/types.h>

#include <string>

#include "base/system/posix.h"
#include "target.h"

namespace ramet {

// Made and locked by the constructor. Whatever has its name when it is destroyed is removed: the
// half-written store after a failure, the old store after an exchange, nothing after a rename.
class TempFolder {
 public:
  explicit TempFolder(const Target& target);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] int fd() const { return lock_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string path() const { return target_.path_of(name_); }

  void set_mode(mode_t mode) const;

 private:
  const Target& target_;
  std::string name_;
  Fd lock_;
};

// Removes the temporary folders of writers to `target` that live no more. Best effort: what
// cannot be removed stays.
void remove_stale(const Target& target);

// A fresh name of that form.
[[nodiscard]] std::string temp_name(const Target& target);

// Removes the folder `name` in the folder `parent`, also while somebody else removes it too; errors
// leave the rest. Goes by descriptors and takes no memory but readdir's: it runs where memory has
// run out, too.
void remove_tree(int parent, const char* name) noexcept;

}  // namespace ramet
