// The row copies that gather.cc chooses from. Each has the contract of Kernels::gather_rows: every
// id is compared with the table's bound (unsigned, so negative ids fail too) before its row is
// touched.
#pragma once

#include <cstdint>

#include "ramet/kernels.h"

namespace ramet {

using GatherRows = int64_t (*)(const GatherArgs& args);

// Ordinary stores: the output stays in the caches for its reader.
int64_t gather_cached(const GatherArgs& args);

// Streaming stores, past the caches: the best that this machine's instructions offer, or nullptr.
GatherRows streaming_gather();

// Need the instructions that they are named for.
int64_t gather_streamed_avx2(const GatherArgs& args);
int64_t gather_streamed_avx512(const GatherArgs& args);

}  // namespace ramet
