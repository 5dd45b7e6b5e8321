#include "ramet/exchange.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/parallel.h"
#include "kernels/kernels.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kLine = 16;  // columns that a thread takes at least: a cache line of floats
constexpr int64_t kAhead = 16;

// `many` has a row for each of `ids`, which are rows of `few`.
void check_fit(const Array& few, std::span<const int32_t> ids, const Array& many, int threads) {
  if (threads < 1) throw_invalid("threads is ", threads, ", expected at least 1");
  if (few.dtype != many.dtype || many.rows() != static_cast<int64_t>(ids.size()) ||
      !std::equal(few.shape.begin() + 1, few.shape.end(), many.shape.begin() + 1, many.shape.end()))
    throw_invalid(ids.size(), " rows of ", few.describe(), " do not fit ", many.describe());
  const auto bound = static_cast<uint64_t>(few.rows());
  const auto outside = std::find_if(ids.begin(), ids.end(), [&](int32_t id) {
    return static_cast<uint64_t>(static_cast<int64_t>(id)) >= bound;
  });
  if (outside == ids.end()) return;
  throw_error(ErrorCode::kOutOfRange, "ids[", outside - ids.begin(), "] = ", *outside,
              " is outside the ", bound, " rows");
}

// Columns [begin, end) of all rows.
template <typename T>
void add_columns(T* out,
                 std::span<const int32_t> ids,
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
void add(const Array& out, std::span<const int32_t> ids, const Array& values, int threads) {
  const int64_t width = out.row_bytes() / static_cast<int64_t>(sizeof(T));
  const int64_t lines = (width + kLine - 1) / kLine;
  const int64_t grain = std::max<int64_t>(1, (lines + threads - 1) / threads);
  parallel_for(lines, grain, threads, [&](int64_t begin, int64_t end) {
    add_columns(static_cast<T*>(out.data), ids, static_cast<const T*>(values.data), width,
                begin * kLine, std::min(end * kLine, width));
  });
}

}  // namespace

// The gather kernel takes 64-bit ids: widened a piece at a time, which stays in the cache.
void take_rows(const Array& rows, std::span<const int32_t> ids, const Array& out, int threads) {
  check_fit(rows, ids, out, threads);
  constexpr int64_t kPiece = 1024;
  const int64_t row_bytes = rows.row_bytes();
  parallel_for(static_cast<int64_t>(ids.size()), kPiece, threads, [&](int64_t begin, int64_t end) {
    std::array<int64_t, kPiece> wide;
    for (int64_t first = begin; first < end; first += kPiece) {
      const int64_t count = std::min(kPiece, end - first);
      std::copy_n(ids.begin() + first, count, wide.begin());
      cpu_kernels()->gather_rows({.table = rows.data,
                                  .num_rows = rows.rows(),
                                  .row_bytes = row_bytes,
                                  .row_stride = row_bytes,
                                  .ids = wide.data(),
                                  .num_ids = count,
                                  .out = static_cast<char*>(out.data) + first * row_bytes,
                                  .output_bytes = out.bytes()});
    }
  });
}

void add_rows(const Array& out, std::span<const int32_t> ids, const Array& values, int threads) {
  if (out.dtype != DType::kFloat32 && out.dtype != DType::kFloat64)
    throw_invalid("rows of ", out.describe(), " cannot be added; float32 and float64 can");
  check_fit(out, ids, values, threads);
  if (out.dtype == DType::kFloat32) return add<float>(out, ids, values, threads);
  return add<double>(out, ids, values, threads);
}

}  // namespace ramet
