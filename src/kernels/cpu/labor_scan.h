// The sources of a row that LABOR-0 accepts: those whose random word is at most the row's
// threshold. docs/semantics.md, section 8.
//
// The word belongs to the source, so every in-edge of the row is looked at: a hash and a comparison
// each, several at a time in vector lanes. A kernel per instruction set gives the same result;
// labor_scan() is the one that ramet::isa() chose.
#pragma once

#include <cstdint>

#include "base/draw_keys.h"

namespace ramet {

// Kernels write up to so many entries more than they accept.
inline constexpr int64_t kLaborPadding = 16;

// So many sources ahead of the one that is looked at are requested: the computation between two
// loads is too long for the processor to look that far itself.
inline constexpr int64_t kLaborAhead = 512;

// Writes the offsets of the accepted of `count` sources (fewer than 2^32) to `accepted`, ascending,
// and returns their number. `accepted` has room for count + kLaborPadding. Index: int32_t, int64_t.
template <typename Index>
using LaborScan = int64_t (*)(const DrawKeys& source_keys,
                              uint64_t threshold,
                              const Index* sources,
                              int64_t count,
                              uint32_t* accepted);

// Writes draw_word(keys, values[i]) to out[i], which is aligned to 64 bytes. Both arrays have room
// for count + kLaborPadding.
using WordsOf = void (*)(const DrawKeys& keys, const int64_t* values, int64_t count, uint64_t* out);

struct LaborKernel {
  LaborScan<int32_t> scan32 = nullptr;
  LaborScan<int64_t> scan64 = nullptr;
  WordsOf words = nullptr;

  int64_t operator()(
      const DrawKeys& keys, uint64_t bound, const int32_t* s, int64_t n, uint32_t* a) const {
    return scan32(keys, bound, s, n, a);
  }
  int64_t operator()(
      const DrawKeys& keys, uint64_t bound, const int64_t* s, int64_t n, uint32_t* a) const {
    return scan64(keys, bound, s, n, a);
  }
};

[[nodiscard]] LaborKernel labor_portable();

}  // namespace ramet
