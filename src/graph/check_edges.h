// Checks of what a CSC is built from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ramet/array.h"
#include "ramet/error.h"

namespace ramet {

inline constexpr int64_t kMaxNodes = int64_t{1} << 44;  // 2^12 buckets of 2^32 rows

// Of ids below `count`.
[[nodiscard]] inline DType width_for(int64_t count) {
  return count <= std::numeric_limits<int32_t>::max() ? DType::kInt32 : DType::kInt64;
}

inline void require_ids(const Array& ids, const char* what) {
  if (ids.shape.size() == 1 && (ids.dtype == DType::kInt32 || ids.dtype == DType::kInt64)) return;
  throw_invalid(what, " is ", ids.describe(), ", expected one dimension of int32 or int64");
}

inline void require_edges(const Array& src, const Array& dst) {
  require_ids(src, "src");
  require_ids(dst, "dst");
  if (src.rows() != dst.rows() || src.dtype != dst.dtype)
    throw_invalid("src is ", src.describe(), " but dst is ", dst.describe());
}

inline void require_sizes(int64_t num_src, int64_t num_dst, bool undirected, int threads) {
  if (num_src < 0 || num_dst < 0)
    throw_invalid("number of nodes is negative: ", std::min(num_src, num_dst));
  if (num_dst > kMaxNodes) throw_invalid("num_dst is ", num_dst, ", expected at most ", kMaxNodes);
  if (threads < 0) throw_invalid("threads is ", threads, ", expected >= 0");
  if (undirected && num_src != num_dst)
    throw_invalid("an undirected edge type needs the same nodes at both ends, but has ", num_src,
                  " sources and ", num_dst, " destinations");
}

}  // namespace ramet
