// RowOrder: the order in which a device reads the rows of a gather, or of the topology. It affects
// only time.
//
// A value. Failure: kInvalidArgument for an unknown name, listing the known ones.
#pragma once

#include <cstdint>
#include <string_view>

namespace ramet {

enum class RowOrder : uint8_t {
  kAuto,     // kSorted for many rows of a large table, or topology, in host memory
  kSorted,   // by the part of it in which they are: see cuda_row_regions.h
  kAsGiven,  // as the ids come
};

// "auto", "sorted", "as_given".
[[nodiscard]] const char* name(RowOrder order);
[[nodiscard]] RowOrder row_order_named(std::string_view name);

}  // namespace ramet
