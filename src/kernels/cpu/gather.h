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

// Streaming stores, past the caches: the best that this machine's instructions offer, or nullptr.
GatherRows streaming_gather();

// The decoding gathers, in the same two kinds: the best that this machine's instructions offer.
using GatherDecoded = int64_t (*)(const DecodeArgs& args);
struct DecodingGathers {
  GatherDecoded cached, streamed;
};
DecodingGathers decoding_gathers();

// Kernels::narrow: the best that this machine's instructions offer.
using Narrow = void (*)(const float* values, int64_t count, uint16_t* out);
Narrow best_narrow();
void narrow_portable(const float* values, int64_t count, uint16_t* out);

int64_t gather_decoded_portable(const DecodeArgs& args);  // ordinary stores

// Need the instructions that they are named for.
int64_t gather_streamed_avx2(const GatherArgs& args);
int64_t gather_streamed_avx512(const GatherArgs& args);
int64_t decode_cached_avx2(const DecodeArgs& args);
int64_t decode_streamed_avx2(const DecodeArgs& args);
void narrow_avx2(const float* values, int64_t count, uint16_t* out);
int64_t decode_cached_avx512(const DecodeArgs& args);
int64_t decode_streamed_avx512(const DecodeArgs& args);

}  // namespace ramet
