// Where a device has its tables, and its topology: what fits into device memory is copied there,
// the rest is read by the faster of two ways, which are measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ramet/placement.h"
#include "reading_rates.h"

namespace ramet {

class PlacementPlan {
 public:
  // `budget`: bytes of device memory that copies may take.
  explicit PlacementPlan(int64_t budget) : budget_(budget) {}

  // Decides on `bytes` of `name`. `measure` is called where the rates matter. Any location but
  // kAuto is the user's, and is taken whatever it costs. `changes`: rows may be written at any
  // time, so that a copy would be out of date; kInvalidArgument where the user wants one.
  [[nodiscard]] PlacementDecision decide(const std::string& name,
                                         int64_t bytes,
                                         Location wanted,
                                         const std::function<ReadingRates()>& measure,
                                         bool changes = false);
  // Other memory that copies take.
  void take(int64_t bytes) { budget_ -= bytes; }
  [[nodiscard]] int64_t left() const { return budget_; }

 private:
  int64_t budget_;
};

// The rows of a table from where they were decided to come. `may_stage`: the user did not ask for
// it, and only a part of the table was page-locked to decide; where all of it cannot be, the rows
// are staged, which `decision` says then.
[[nodiscard]] std::shared_ptr<const RowSource> place_rows(const Table& table,
                                                          const RowSourceOptions& options,
                                                          bool may_stage,
                                                          PlacementDecision& decision);

}  // namespace ramet
