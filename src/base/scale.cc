#include "base/scale.h"

#include <algorithm>
#include <vector>

namespace ramet {

namespace {

bool is_one_per_row(const Array& rows, const Array& scale) {
  return scale.rows() == rows.rows() &&
         std::all_of(scale.shape.begin() + 1, scale.shape.end(), [](int64_t n) { return n == 1; });
}

bool is_one_per_column(const Array& rows, const Array& scale) {
  return scale.rows() == 1 &&
         std::equal(scale.shape.begin() + 1, scale.shape.end(), rows.shape.begin() + 1);
}

}  // namespace

std::string scale_problem(const Array& rows, const Array& scale) {
  if (rows.dtype != DType::kInt8) return "is of " + rows.describe() + ", not of int8 rows";
  if (scale.dtype != DType::kFloat32) return "is " + scale.describe() + ", not float32";
  if (scale.shape.size() == rows.shape.size() &&
      (is_one_per_row(rows, scale) || is_one_per_column(rows, scale)))
    return "";
  Array by_row{nullptr, DType::kFloat32, std::vector<int64_t>(rows.shape.size(), 1), {}, false};
  Array by_column{nullptr, DType::kFloat32, rows.shape, {}, false};
  by_row.shape[0] = rows.rows();
  by_column.shape[0] = 1;
  return "is " + scale.describe() + ", but " + rows.describe() + " needs " + by_row.describe() +
         " (one per row) or " + by_column.describe() + " (one per column)";
}

ScaledBy scaled_by(const Array& rows, const Array& scale) {
  return is_one_per_row(rows, scale) ? ScaledBy::kRow : ScaledBy::kColumn;
}

}  // namespace ramet
