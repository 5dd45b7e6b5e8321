#include "row_bounds.h"

#include <algorithm>
#include <cmath>

#include "base/exponential_lanes.h"
#include "base/parallel.h"
#include "base/system/space.h"
#include "kernels/cpu/isa_kernels.h"

namespace ramet {
namespace {

constexpr int64_t kRowsAtOnce = 4096;

template <typename Weight>
bool all_are_weights(const Weight* weights, int64_t degree) {
  if (!std::isnan(best_kernels().weighted.scan(weights).sum(weights, degree))) return true;
  return std::all_of(weights, weights + degree,
                     [](Weight weight) { return is_weight(static_cast<double>(weight)); });
}

}  // namespace

template <typename Weight>
RowBound<Weight> row_bound(const Weight* weights, int64_t degree) {
  if (degree == 0 || !can_reject(degree) || !all_are_weights(weights, degree)) return {};
  const Weight largest = *std::max_element(weights, weights + degree);
  if (largest == 0) return {};
  const double scale = kLargestPart / static_cast<double>(largest);
  uint64_t parts = 0;
  for (int64_t x = 0; x < degree; ++x)
    parts += part_of_largest(static_cast<double>(weights[x]), scale);
  return {largest, average_tries(degree, parts)};
}

template <typename Weight>
std::shared_ptr<const RowBounds<Weight>> RowBounds<Weight>::make(const Array& weights,
                                                                 const EdgeType& edges,
                                                                 int threads) {
  const int64_t num_rows = edges.indptr.rows() - 1, num_edges = edges.num_edges();
  if (num_rows * int64_t{sizeof(RowBound<Weight>)} + 2 * num_edges > available_memory().bytes / 8)
    return nullptr;
  auto made = std::make_shared<RowBounds>();
  made->bounds_ = HugeVector<RowBound<Weight>>(static_cast<size_t>(num_rows));
  made->codes_ = HugeVector<uint16_t>(static_cast<size_t>(num_edges));
  const int64_t* indptr = edges.indptr.as<int64_t>().data();
  parallel_for(num_rows, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = indptr[row], last = indptr[row + 1];
      if (first < 0 || last < first || last > num_edges) continue;  // who reads it is told
      made->fill_row(static_cast<size_t>(row),
                     weights.as<Weight>().subspan(static_cast<size_t>(first),
                                                  static_cast<size_t>(last - first)),
                     made->codes_.data() + first);
    }
  });
  return made;
}

template <typename Weight>
void RowBounds<Weight>::fill_row(size_t row, std::span<const Weight> weights, uint16_t* codes) {
  const RowBound<Weight> bound = row_bound(weights.data(), std::ssize(weights));
  bounds_[row] = bound;
  if (bound.tries == 0) return;
  const double scale = code_scale(static_cast<double>(bound.largest));
  std::transform(weights.begin(), weights.end(), codes,
                 [&](Weight weight) { return code_of_weight(static_cast<double>(weight), scale); });
}

template RowBound<float> row_bound(const float*, int64_t);
template RowBound<double> row_bound(const double*, int64_t);
template class RowBounds<float>;
template class RowBounds<double>;

}  // namespace ramet
