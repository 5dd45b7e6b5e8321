// What a loader's options may be.
#pragma once

#include <cstdint>

#include "ramet/loader.h"

namespace ramet {

// Throws kInvalidArgument, kOutOfRange or kNotFound, naming option, value and bound, unless
// `options` fit `graph`; but for what a SeedPlan checks.
void check(const LoaderOptions& options, const Graph& graph);

// kInvalidArgument: "batch_size is 0, expected at least 1".
// The same of LoaderOptions::links.
void check_links(const LoaderOptions& options, const Graph& graph);

void require_at_least(int64_t value, int64_t least, const char* name);
void require_at_most(int64_t value, int64_t most, const char* name);

}  // namespace ramet
