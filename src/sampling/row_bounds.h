// RowBounds: what draws by rejection need to know of each row's weights (base/rejection.h), so that
// they need not read them all; and 16 bits for each weight, which
// decide nearly all tries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/huge_vector.h"
#include "base/rejection.h"
#include "ramet/graph.h"

namespace ramet {

// Of one row. Without tries where all weights are 0, or one is none.
template <typename Weight>
[[nodiscard]] RowBound<Weight> row_bound(const Weight* weights, int64_t degree);

// Of all rows of an edge type; 8 bytes each, 16 of doubles, and 2 bytes an edge. Immutable; any
// thread may use it.
template <typename Weight>
class RowBounds {
 public:
  // Reads all weights. nullptr where it would take more than an eighth of the memory that is left.
  [[nodiscard]] static std::shared_ptr<const RowBounds> make(const Array& weights,
                                                             const EdgeType& edges,
                                                             int threads);

  [[nodiscard]] const RowBound<Weight>* data() const { return bounds_.data(); }  // by row
  [[nodiscard]] const uint16_t* codes() const { return codes_.data(); }  // by position of the edge
  [[nodiscard]] int64_t bytes() const {
    return std::ssize(bounds_) * int64_t{sizeof(RowBound<Weight>)} + 2 * std::ssize(codes_);
  }

 private:
  void fill_row(size_t row, std::span<const Weight> weights, uint16_t* codes);

  HugeVector<RowBound<Weight>> bounds_;
  HugeVector<uint16_t> codes_;
};

}  // namespace ramet
