// Sums rows into rows: out[ids[i]] += values[i], i ascending, so that the bits do not depend on who
// computes it or on how many threads do. What the backward of an exchange of rows needs.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"

namespace ramet {

// `out`: [rows, ...], writable; `values`: [ids.size(), ...], of the same row shape and dtype,
// float32 or float64. At most `threads` threads, which share the columns. kOutOfRange for an id
// that is no row, before anything is written; kInvalidArgument for arrays that do not fit.
void add_rows(const Array& out, std::span<const int64_t> ids, const Array& values, int threads = 1);

}  // namespace ramet
