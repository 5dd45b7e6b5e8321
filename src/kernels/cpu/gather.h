// The gathers that gather.cc chooses from. Each has the contract of its member of Kernels: every
// id is compared with the table's bound (unsigned, so negative ids fail too) before its row is
// touched.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace ramet {

using GatherRows = int64_t (*)(const GatherArgs& args);

// Ordinary stores: the output stays in the caches for its reader.
int64_t gather_cached(const GatherArgs& args);

// The decoding gathers, with ordinary and with streaming stores.
using GatherDecoded = int64_t (*)(const DecodeArgs& args);
struct DecodingGathers {
  GatherDecoded cached, streamed;
};

// Kernels::narrow.
using Narrow = void (*)(const float* values, int64_t count, uint16_t* out);
void narrow_portable(const float* values, int64_t count, uint16_t* out);

int64_t gather_decoded_portable(const DecodeArgs& args);  // ordinary stores

}  // namespace ramet
