// TriesOfRows: what draws by rejection need to know of each row's weights (base/rejection.h), so
// that they need not read them all; and 16 bits for each weight, which decide nearly all tries.
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
[[nodiscard]] RowTries<Weight> row_tries(const Weight* weights, int64_t degree);

// Of all rows of an edge type; 8 bytes each, 16 of doubles, and 2 bytes an edge. Immutable; any
// thread may use it.
template <typename Weight>
class TriesOfRows {
 public:
  // Reads all weights. nullptr where it would take more than an eighth of the memory that is left.
  [[nodiscard]] static std::shared_ptr<const TriesOfRows> make(const Array& weights,
                                                               const EdgeType& edges,
                                                               int threads);

  [[nodiscard]] const RowTries<Weight>* data() const { return rows_.data(); }  // by row
  [[nodiscard]] const uint16_t* codes() const { return codes_.data(); }  // by position of the edge
  [[nodiscard]] int64_t bytes() const {
    return std::ssize(rows_) * int64_t{sizeof(RowTries<Weight>)} + 2 * std::ssize(codes_);
  }

 private:
  void fill_row(size_t row, std::span<const Weight> weights, uint16_t* codes);

  HugeVector<RowTries<Weight>> rows_;
  HugeVector<uint16_t> codes_;
};

}  // namespace ramet
