// The part that owns a place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ramet/whole_table.h"

namespace ramet {

class PartOfPlace {
 public:
  explicit PartOfPlace(const RowPlaces& places) {
    for (int64_t part = 0; part < places.parts(); ++part)
      begins_.push_back(places.places_of(part).begin);
  }

  size_t operator()(int64_t place) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), place);
    return static_cast<size_t>(behind - begins_.begin()) - 1;
  }

 private:
  std::vector<int64_t> begins_;  // of an empty part: the next one's
};

}  // namespace ramet
