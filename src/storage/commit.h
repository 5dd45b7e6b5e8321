// The moment in which a finished folder takes its place.
#pragma once

#include <string>

#include "base/system/posix.h"
#include "folder.h"
#include "target.h"

namespace ramet {

// Syncs all files of a folder, and then the folders that name them.
void sync_tree(const Folder& folder);

// Renames the folder `temp` (a name beside the target) to the target, and an old store there to
// `temp`. Returns a lock on the old store, which keeps other writers from removing it; empty
// without an old store. If the target is neither a store nor an empty folder, nothing is done and
// kInvalidArgument thrown.
[[nodiscard]] Fd take_place(const Target& target, const std::string& temp);

// The same for file systems that cannot exchange two names: the old store moves out of the way
// first, so there is a moment without any.
[[nodiscard]] Fd take_place_in_two_steps(const Target& target, const std::string& temp);

}  // namespace ramet
