// Files without a name: gone when the last process that has one open ends, however it ends.
#pragma once

#include <string>

#include "base/system/posix.h"

namespace ramet {

// An empty file on the file system of `folder`, to read and write. Where the file system has no
// files without a name it has one for a moment. kNotFound, kIo, naming the folder.
[[nodiscard]] Fd create_unnamed_file(const std::string& folder);

// Opens the file of a descriptor again, with other `flags` of open(2); -1 inside where refused.
[[nodiscard]] Fd reopen(const Fd& file, int flags);

// A path at which this process can open the file.
[[nodiscard]] std::string path_of(const Fd& file);

}  // namespace ramet
