// Where a loader with a device keeps a table, or the topology, for it: what fits into device memory
// is copied there, the rest is read by the faster of two ways, which are measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ramet/loader.h"

namespace ramet {

// What two ways of reading host memory reach, in bytes of rows a second.
struct ReadingRates {
  double in_place = 0;  // 0 where it cannot be
  double staged = 0;
  std::string refusal;                         // why it cannot be read in place
  std::shared_ptr<const void> kept = nullptr;  // what is page-locked, for whoever places it there
};

class PlacementPlan {
 public:
  // `budget`: bytes of device memory that copies may take.
  explicit PlacementPlan(int64_t budget) : budget_(budget) {}

  // Decides on `bytes` of `name`. `measure` is called where it matters. What the user `wanted` is
  // done, whatever it costs.
  [[nodiscard]] PlacedTable place(const std::string& name,
                                  int64_t bytes,
                                  Placement wanted,
                                  const std::function<ReadingRates()>& measure);

 private:
  int64_t budget_;
};

}  // namespace ramet
