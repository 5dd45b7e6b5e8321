#include "ramet/add_rows.h"

#include <algorithm>
#include <string>

#include "ramet/error.h"
#include "ramet/parallel.h"

namespace ramet {
namespace {

constexpr int64_t kLine = 16;  // columns that a thread takes at least: a cache line of floats
constexpr int64_t kAhead = 16;

[[noreturn]] void invalid(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void check_arrays(const Array& out, std::span<const int64_t> ids, const Array& values) {
  if (out.dtype != values.dtype || (out.dtype != DType::kFloat32 && out.dtype != DType::kFloat64))
    invalid("rows of " + out.describe() + " and " + values.describe() +
            " cannot be added; both must be float32 or float64");
  if (!std::equal(out.shape.begin() + 1, out.shape.end(), values.shape.begin() + 1,
                  values.shape.end()) ||
      values.rows() != static_cast<int64_t>(ids.size()))
    invalid(values.describe() + " cannot be added to " + out.describe() + " at " +
            std::to_string(ids.size()) + " rows");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<uint64_t>(ids[i]) >= static_cast<uint64_t>(out.rows()))
      throw Error(ErrorCode::kOutOfRange, "ids[" + std::to_string(i) +
                                              "] = " + std::to_string(ids[i]) + " is outside the " +
                                              std::to_string(out.rows()) + " rows");
  }
}

// Columns [begin, end) of all rows.
template <typename T>
void add_columns(T* out,
                 std::span<const int64_t> ids,
                 const T* values,
                 int64_t width,
                 int64_t begin,
                 int64_t end) {
  const auto count = static_cast<int64_t>(ids.size());
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count)
      __builtin_prefetch(out + ids[static_cast<size_t>(i + kAhead)] * width + begin, 1);
    T* to = out + ids[static_cast<size_t>(i)] * width;
    const T* from = values + i * width;
    for (int64_t column = begin; column < end; ++column)
      to[column] += from[column];
  }
}

template <typename T>
void add(const Array& out, std::span<const int64_t> ids, const Array& values, int threads) {
  const int64_t width = out.row_bytes() / static_cast<int64_t>(sizeof(T));
  const int64_t lines = (width + kLine - 1) / kLine;
  const int64_t grain = std::max<int64_t>(1, (lines + threads - 1) / threads);
  parallel_for(lines, grain, threads, [&](int64_t begin, int64_t end) {
    add_columns(static_cast<T*>(out.data), ids, static_cast<const T*>(values.data), width,
                begin * kLine, std::min(end * kLine, width));
  });
}

}  // namespace

void add_rows(const Array& out, std::span<const int64_t> ids, const Array& values, int threads) {
  check_arrays(out, ids, values);
  if (out.dtype == DType::kFloat32) return add<float>(out, ids, values, threads);
  return add<double>(out, ids, values, threads);
}

}  // namespace ramet
