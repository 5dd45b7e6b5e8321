// Running sums of weights, row by row: what a walk bisects (walk_rows.h).
#include <algorithm>
#include <span>

#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/walks.h"
#include "sampling/weights.h"

namespace ramet {
namespace {

constexpr int64_t kRows = 4096;  // that a thread takes at a time

template <typename T>
void sum_rows(std::span<const int64_t> indptr,
              std::span<const T> weights,
              double* sums,
              int threads) {
  parallel_for(std::ssize(indptr) - 1, kRows, threads, [&](int64_t first, int64_t last) {
    for (auto row = static_cast<size_t>(first); row < static_cast<size_t>(last); ++row) {
      double sum = 0;
      for (auto edge = static_cast<size_t>(indptr[row]);
           edge < static_cast<size_t>(indptr[row + 1]); ++edge) {
        const auto weight = static_cast<double>(weights[edge]);
        if (!is_weight(weight))
          throw_invalid("the weight at position ", edge, " is ", weight, ": it must be 0, or from ",
                        kSmallestWeight, " to ", kLargestWeight);
        sums[edge] = sum += weight;
      }
    }
  });
}

}  // namespace

Array weight_sums(const Array& indptr, const Array& weights, int threads) {
  const auto bounds = indptr.as<int64_t>();
  if (bounds.empty() || bounds.front() != 0 || bounds.back() != weights.rows() ||
      !std::is_sorted(bounds.begin(), bounds.end()) || weights.shape.size() != 1)
    throw_invalid("rows of ", bounds.empty() ? 0 : bounds.back(), " edges do not fit ",
                  weights.rows(), " weights");
  Array sums = BufferPool::shared()->allocate_array(DType::kFloat64, {weights.rows()});
  auto* out = static_cast<double*>(sums.data);
  if (weights.dtype == DType::kFloat32)
    sum_rows(bounds, weights.as<float>(), out, threads);
  else if (weights.dtype == DType::kFloat64)
    sum_rows(bounds, weights.as<double>(), out, threads);
  else
    throw_invalid("weights have dtype ", name(weights.dtype), ", expected float32 or float64");
  return sums;
}

}  // namespace ramet
