#include <algorithm>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/csc.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kRowsAtOnce = 1 << 14;  // rows

void check(const Array& indptr, const Array& keys) {
  for (const Array* array : {&indptr, &keys}) {
    if (array->dtype != DType::kInt64 || array->shape.size() != 1)
      throw_invalid("indptr and keys are ", indptr.describe(), " and ", keys.describe(),
                    ", expected one dimension of int64");
  }
  const auto offsets = indptr.as<int64_t>();
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != keys.rows() ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw_invalid("indptr does not rise from 0 to the number of edges, ", keys.rows());
}

template <typename Position>
void sort_rows(std::span<const int64_t> offsets,
               std::span<const int64_t> keys,
               Position* order,
               int threads) {
  const auto is_less = [keys](Position a, Position b) {
    return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
  };
  parallel_for(std::ssize(offsets) - 1, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
    std::iota(order + offsets[static_cast<size_t>(begin)],
              order + offsets[static_cast<size_t>(end)],
              static_cast<Position>(offsets[static_cast<size_t>(begin)]));
    for (auto v = static_cast<size_t>(begin); v < static_cast<size_t>(end); ++v)
      std::stable_sort(order + offsets[v], order + offsets[v + 1], is_less);
  });
}

}  // namespace

Array sorted_rows(const Array& indptr, const Array& keys, int threads) {
  check(indptr, keys);
  if (threads < 0) throw_invalid("threads is ", threads, ", expected >= 0");
  const bool narrow = keys.rows() <= std::numeric_limits<int32_t>::max();
  Array order =
      BufferPool::create()->allocate_array(narrow ? DType::kInt32 : DType::kInt64, {keys.rows()});
  const auto offsets = indptr.as<int64_t>(), of_edges = keys.as<int64_t>();
  if (narrow) {
    sort_rows(offsets, of_edges, static_cast<int32_t*>(order.data), threads);
  } else {
    sort_rows(offsets, of_edges, static_cast<int64_t*>(order.data), threads);
  }
  return order;
}

}  // namespace ramet
