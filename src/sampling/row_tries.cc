#include "row_tries.h"

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
RowTries<Weight> row_tries(const Weight* weights, int64_t degree) {
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
std::shared_ptr<const TriesOfRows<Weight>> TriesOfRows<Weight>::make(const Array& weights,
                                                                     const EdgeType& edges,
                                                                     int threads) {
  const int64_t num_rows = edges.indptr.rows() - 1, num_edges = edges.num_edges();
  if (num_rows * int64_t{sizeof(RowTries<Weight>)} + 2 * num_edges > available_memory().bytes / 8)
    return nullptr;
  const std::span indptr = edges.indptr.as<int64_t>();
  const bool ascend = indptr.front() >= 0 && indptr.back() <= num_edges &&
                      std::is_sorted(indptr.begin(), indptr.end());
  if (!ascend) return nullptr;  // who reads a wrong row is told
  auto made = std::make_shared<TriesOfRows>();
  made->rows_ = HugeVector<RowTries<Weight>>(static_cast<size_t>(num_rows));
  made->codes_ = HugeVector<uint16_t>(static_cast<size_t>(num_edges));
  parallel_for(num_rows, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto first = static_cast<size_t>(indptr[static_cast<size_t>(row)]);
      const auto last = static_cast<size_t>(indptr[static_cast<size_t>(row) + 1]);
      made->fill_row(static_cast<size_t>(row), weights.as<Weight>().subspan(first, last - first),
                     made->codes_.data() + first);
    }
  });
  return made;
}

template <typename Weight>
void TriesOfRows<Weight>::fill_row(size_t row, std::span<const Weight> weights, uint16_t* codes) {
  const RowTries<Weight> of_row = row_tries(weights.data(), std::ssize(weights));
  rows_[row] = of_row;
  if (of_row.tries == 0) return;
  const double scale = code_scale(static_cast<double>(of_row.largest));
  std::transform(weights.begin(), weights.end(), codes,
                 [&](Weight weight) { return code_of_weight(static_cast<double>(weight), scale); });
}

template RowTries<float> row_tries(const float*, int64_t);
template RowTries<double> row_tries(const double*, int64_t);
template class TriesOfRows<float>;
template class TriesOfRows<double>;

}  // namespace ramet
