// Scales turn int8 rows back into float32: element times scale. A scale is float32, with one value
// per row, [num_rows, 1, ...], or one per column, [1, columns...]. `rows * scale` means the same
// here and in numpy. docs/format.md, section 2.
#pragma once

#include <string>

#include "ramet/array.h"

namespace ramet {

// The scale of the table "feat" is the array "feat.scale" beside it.
inline constexpr const char* kScaleSuffix = ".scale";

enum class ScaledBy { kRow, kColumn };

// Why `scale` does not fit `rows`, or "". Checks dtypes and shapes, not values.
[[nodiscard]] std::string scale_problem(const Array& rows, const Array& scale);

// Unchecked. Where both fit, they mean the same.
[[nodiscard]] ScaledBy scaled_by(const Array& rows, const Array& scale);

}  // namespace ramet
