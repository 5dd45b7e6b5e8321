// The moment in which a finished folder takes its place.
#pragma once

#include <string>

#include "base/system/posix.h"
#include "folder.h"
#include "target.h"

namespace ramet {

// Syncs all files of a folder, and then the folders that name them.
void sync_tree(const Folder& folder);

// Gives the folder `temp` (a name beside the target) the target's name. The store that stood there
// has the name `temp` afterwards; what is returned is a lock on it, which keeps other writers from
// cleaning it up, empty if there was none. If the target is neither a store nor an empty folder,
// nothing is done and kInvalidArgument thrown.
[[nodiscard]] Fd take_place(const Target& target, const std::string& temp);

// The same for file systems that cannot exchange two names: the old store moves out of the way
// first, so there is a moment without any.
[[nodiscard]] Fd take_place_in_two_steps(const Target& target, const std::string& temp);

}  // namespace ramet
