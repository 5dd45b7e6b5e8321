#include "shape.h"

#include <algorithm>

#include "ramet/error.h"

namespace ramet {

std::string shape_problem(DType dtype, const std::vector<int64_t>& shape) {
  if (shape.empty() || shape.size() > kMaxDimensions)
    return concat("has ", shape.size(), " dimensions, 1 to ", kMaxDimensions, " are possible");
  int64_t bytes = item_size(dtype);
  for (const int64_t extent : shape) {
    if (extent < 0) return concat("has a dimension of ", extent);
    // An extent of 0 counts as 1, so that the other extents are bounded all the same.
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes))
      return "has shape (" + shape_text(shape, ", ") + "), more than 2^63 bytes";
  }
  return "";
}

int64_t array_bytes(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = item_size(dtype);
  for (const int64_t extent : shape)
    bytes *= extent;
  return bytes;
}

std::string shape_text(const std::vector<int64_t>& shape, const char* comma) {
  std::string text;
  for (const int64_t extent : shape) {
    if (!text.empty()) text += comma;
    text += std::to_string(extent);
  }
  return text;
}

}  // namespace ramet
