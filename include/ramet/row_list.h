// RowList: row ids with a row each: values to set, values or gradients to sum.
//
// A view: the caller keeps the memory. Several lists together are read in order, so that a row may
// be named in one of them, in several, or several times in one.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"

namespace ramet {

struct RowList {
  std::span<const int64_t> ids;
  Array rows;  // [ids.size(), ...]: rows[i] is for row ids[i]
};

}  // namespace ramet
