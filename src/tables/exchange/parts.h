// The part that owns a position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ramet/whole_table.h"

namespace ramet {

class PartOfPosition {
 public:
  explicit PartOfPosition(const RowPositions& positions) {
    for (int64_t part = 0; part < positions.parts(); ++part)
      begins_.push_back(positions.positions_of(part).begin);
  }

  size_t operator()(int64_t position) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), position);
    return static_cast<size_t>(behind - begins_.begin()) - 1;
  }

 private:
  std::vector<int64_t> begins_;  // of an empty part: the next one's
};

}  // namespace ramet
