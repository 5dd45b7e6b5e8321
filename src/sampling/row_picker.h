// RowPicker: the picks of one destination after the other, as positions in the CSC. Rows that a
// vector kernel can take are picked 16 at a time, ahead of the row that is asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "kernels/cpu/isa_kernels.h"
#include "kernels/cpu/pick.h"
#include "ramet/sampler.h"
#include "rows.h"

namespace ramet {

// Over `rows`, the row of each of `nodes`. One per thread.
class RowPicker {
 public:
  RowPicker(const PickRule& rule,
            const DrawKeys& hop_keys,
            const IdSpan& nodes,
            std::span<const Row> rows)
      : rule_(rule), hop_keys_(hop_keys), nodes_(nodes), rows_(rows), picker_(rule) {
    const bool for_kernel = rule.fanout >= 1 && rule.fanout <= kFloydMaxFanout && !rule.replace;
    if (for_kernel) max_lane_degree_ = std::numeric_limits<uint32_t>::max();
  }

  // Calls emit(position) for each pick of row i. Every row is asked for once, in order.
  template <typename Emit>
  void pick(size_t i, Emit&& emit) {
    const Row row = rows_[i];
    if (fits_kernel(row)) {
      const uint32_t* picked = next_in_lanes();
      for (int64_t t = 0; t < rule_.fanout; ++t)
        emit(row.begin + picked[t * kFloydRows]);
    } else if (num_picks(rule_, row.degree) == row.degree && !rule_.replace) {
      for (int64_t p = 0; p < row.degree; ++p)
        emit(row.begin + p);
    } else {
      for (const int64_t p : pick_alone(i))
        emit(row.begin + p);
    }
  }

 private:
  [[nodiscard]] bool fits_kernel(const Row& row) const {
    return row.degree > rule_.fanout && row.degree <= max_lane_degree_;
  }

  const uint32_t* next_in_lanes() {
    if (lane_ == kFloydRows) fill_lanes();
    return &picks_.of[0][lane_++];
  }

  void fill_lanes() {
    size_t row_of[kFloydRows];
    int count = 0;
    for (; count < kFloydRows && cursor_ < rows_.size(); ++cursor_) {
      row_of[count] = cursor_;  // overwritten by the next row unless it fits
      lanes_.node[count % 2][count / 2] = static_cast<uint64_t>(nodes_[cursor_]);
      lanes_.degree[count] = static_cast<uint32_t>(rows_[cursor_].degree);
      count += fits_kernel(rows_[cursor_]) ? 1 : 0;
    }
    uint32_t suspects = kernel_(hop_keys_, static_cast<int>(rule_.fanout), lanes_, picks_);
    for (int r = 0; r < count; ++r) {
      if ((suspects >> r & 1) != 0) repeat(row_of[r], r);
    }
    lane_ = 0;
  }

  void repeat(size_t i, int lane) {
    const auto picked = pick_alone(i);
    for (size_t t = 0; t < picked.size(); ++t)
      picks_.of[t][lane] = static_cast<uint32_t>(picked[t]);
  }

  std::span<const int64_t> pick_alone(size_t i) {
    const int64_t degree = rows_[i].degree;
    picked_.resize(static_cast<size_t>(num_picks(rule_, degree)));
    picker_.pick(node_keys(hop_keys_, nodes_[i]), degree, picked_.data());
    return picked_;
  }

  PickRule rule_;
  DrawKeys hop_keys_;
  IdSpan nodes_;
  std::span<const Row> rows_;
  Picker picker_;
  std::vector<int64_t> picked_;
  FloydKernel kernel_ = best_kernels().floyd;
  FloydRows lanes_ = {};
  FloydPicks picks_;
  int64_t max_lane_degree_ = -1;  // none where the rule is not for the kernel
  size_t cursor_ = 0;             // rows before it are in lanes or do not fit the kernel
  int lane_ = kFloydRows;         // of the next row that fits
};

}  // namespace ramet
