// Writing rows of a table: initial values, setting, adding.
//
// Memory: the caller's. Threads and forks: any; no two calls at once on the same rows. The bits do
// not depend on threads. Failure: kOutOfRange for a row outside the table; kInvalidArgument for
// rows that do not fit it. Nothing is written then.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"
#include "ramet/ownership.h"
#include "ramet/row_list.h"

namespace ramet {

// table[ids[i]] = rows[i], list after list; for a repeated id the last row stays. Rows outside
// `own` belong to others and are skipped. `table`: writable. Rows are of its dtype and row shape;
// float32 goes into float16 and bfloat16, too, rounded to the nearest.
void set_rows(const Array& table, std::span<const RowList> lists, NodeRange own, int threads = 1);

// table[ids[i]] += rows[i]: the values of a row are summed in order, list after list, and the sum
// added once. Integers wrap around; for float16 and bfloat16 the sum is float32, and rounded once
// to the nearest. bool is kInvalidArgument. Otherwise as set_rows().
void sum_rows(const Array& table, std::span<const RowList> lists, NodeRange own, int threads = 1);

// The same for a table on a device, with lists that are sorted there. Complete when they return.
void set_sorted_rows(const Array& table, const SortedLists& lists);
void sum_sorted_rows(const Array& table, const SortedLists& lists);

// Distributions of random values; docs/semantics.md, section 18.
enum class Distribution : uint8_t {
  kNormal,   // of mean 0 and variance 1
  kUniform,  // in [0, 1)
  kXavier,   // uniform in [-a, a), a = sqrt(6 / (rows + columns)) (Glorot, Bengio, 2010)
};

// Writes values that depend only on (seed, id, column): to row i of `rows` (float32, float16,
// bfloat16) the values of row ids[i] of a table of `num_rows`.
void init_rows(const Array& rows,
               Distribution distribution,
               uint64_t seed,
               std::span<const int64_t> ids,
               int64_t num_rows,
               int threads = 1);

}  // namespace ramet
