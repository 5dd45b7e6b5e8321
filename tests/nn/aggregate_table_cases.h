// A table, edges and ids that tests of aggregations of a table share.
#pragma once

#include <utility>
#include <vector>

#include "base/narrow.h"
#include "ramet/block_edges.h"
#include "ramet/buffer_pool.h"
#include "ramet/random.h"
#include "ramet/table.h"

namespace ramet::test {

inline constexpr int64_t kRows = 300, kSources = 120, kDestinations = 40, kEdges = 700;

inline Array allocate(DType dtype, std::vector<int64_t> shape) {
  Array array = BufferPool::shared()->allocate_array(dtype, std::move(shape));
  array.writable = true;
  return array;
}

inline float value_at(int64_t i) {
  return static_cast<float>(static_cast<int64_t>(mix64(static_cast<uint64_t>(i)) % 20001) - 10000) /
         777.0F;
}

inline Table table_of(DType dtype, int64_t width) {
  Array rows = allocate(dtype, {kRows, width});
  std::vector<float> values(static_cast<size_t>(kRows * width));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = value_at(static_cast<int64_t>(i));
  narrow_row(values.data(), kRows * width, dtype, rows.data);
  return Table(rows);
}

inline Table quantized(int64_t width, bool by_row) {
  Array rows = allocate(DType::kInt8, {kRows, width});
  for (int64_t i = 0; i < kRows * width; ++i)
    static_cast<int8_t*>(rows.data)[i] = static_cast<int8_t>(mix64(static_cast<uint64_t>(i)));
  Array scale = allocate(DType::kFloat32, {by_row ? kRows : 1, by_row ? 1 : width});
  for (int64_t i = 0; i < scale.bytes() / 4; ++i)
    static_cast<float*>(scale.data)[i] = 0.25F + value_at(i) * value_at(i);
  return {rows, scale, "table"};
}

// Some destinations have no edge, and one has most.
inline BlockEdges some_edges() {
  Array indptr = allocate(DType::kInt64, {kDestinations + 1});
  Array indices = allocate(DType::kInt32, {kEdges});
  auto* const ends = static_cast<int64_t*>(indptr.data);
  for (int64_t d = 0; d <= kDestinations; ++d)
    ends[d] = d == kDestinations ? kEdges : d < 3 ? 0 : d < 20 ? 7 * (d - 2) : 500 + d;
  for (int64_t e = 0; e < kEdges; ++e)
    static_cast<int32_t*>(indices.data)[e] =
        static_cast<int32_t>(mix64(static_cast<uint64_t>(e)) % kSources);
  return {indptr, indices, kSources};
}

}  // namespace ramet::test
