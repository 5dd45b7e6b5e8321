// RowList: row ids with a row each: values to set, values or gradients to sum.
//
// A view: the caller keeps the memory. Several lists together are read in order, so that a row may
// be named in one of them, in several, or several times in one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/array.h"

namespace ramet {

struct RowList {
  std::span<const int64_t> ids;
  Array rows;  // [ids.size(), ...]: rows[i] is for row ids[i]
};

// The same in device memory, sorted by row. Complete, and trusted: rows are rows of the table.
// Positions count through all lists.
struct SortedLists {
  Array rows;                // int64 [k], ascending, each once
  Array starts;              // int32 [k + 1]: where the positions of each row begin
  Array positions;           // int32 [n], ascending for each row
  std::vector<Array> lists;  // the rows of each list
};

}  // namespace ramet
