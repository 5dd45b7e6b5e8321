// The rows that ranks exchange: take_rows copies those that are to be sent, add_rows sums those
// that come back. Row numbers are 32 bits, as plans have them (ExchangePlan in sampler.h). Failure:
// kOutOfRange for a number that is no row, before anything is written; kInvalidArgument for arrays
// that do not fit each other.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"

namespace ramet {

// out[i] = rows[ids[i]], both [..., ...] of equal row shapes and dtypes, `out` writable.
void take_rows(const Array& rows, std::span<const int32_t> ids, const Array& out, int threads = 1);

// out[ids[i]] += values[i], i ascending, on at most `threads` threads, which share the columns: the
// bits do not depend on their number. `out`: [rows, ...], writable; `values`: [ids.size(), ...], of
// the same row shape and dtype, float32 or float64.
void add_rows(const Array& out, std::span<const int32_t> ids, const Array& values, int threads = 1);

}  // namespace ramet
