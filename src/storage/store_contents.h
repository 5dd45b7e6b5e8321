// What a caller wants written, checked.
#pragma once

#include "ramet/store_writer.h"

namespace ramet {

// Throws kInvalidArgument naming the first node type or array that a store cannot hold. Does not
// look at what the arrays mean.
void check_contents(const StoreContents& contents);

}  // namespace ramet
