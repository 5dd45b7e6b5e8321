// Tables whose element type .npy cannot say: bfloat16, whose file holds uint16, and quantized int8,
// whose scale is an array of its own. ramet.txt has a line for each. docs/format.md, section 2.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ramet/store_writer.h"

namespace ramet {

// kBFloat16 or kInt8 by array name.
using TableDTypes = std::map<std::string, DType>;

// What the lines for these contents say.
[[nodiscard]] TableDTypes table_dtypes(const StoreContents& contents);

// Throws kInvalidArgument for a scale that is not of an int8 table or does not fit it.
void check_scales(const StoreContents& contents);

// Gives arrays that were read the element types of `dtypes`. Throws kCorrupt, naming an array by
// location(name), where one is missing, holds something else, or has no scale that fits.
void apply_table_dtypes(const TableDTypes& dtypes,
                        std::map<std::string, Array>& arrays,
                        const std::function<std::string(const std::string&)>& location);

}  // namespace ramet
