#include "placement_plan.h"

#include <cstdio>

#include "device/device_memory.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::string in_gb(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
  return text;
}

std::string describe(const ReadingRates& rates) {
  return "measured " + in_gb(rates.in_place) + "/s in place, " + in_gb(rates.staged) + "/s staged";
}

}  // namespace

PlacementDecision PlacementPlan::decide(const std::string& name,
                                        int64_t bytes,
                                        Location wanted,
                                        const std::function<ReadingRates()>& measure,
                                        bool changes) {
  if (changes && wanted == Location::kDevice)
    throw_invalid("the placement of '", name, "' is 'device', but its rows may be written, which ",
                  "a copy does not see: expected 'auto', 'in_place' or 'staged'");
  if (wanted != Location::kAuto) {
    if (wanted == Location::kDevice) budget_ -= bytes;
    return {name, wanted, bytes, "as asked"};
  }
  const std::string sizes = in_gb(static_cast<double>(bytes)) + " of the " +
                            in_gb(static_cast<double>(budget_)) + " of device memory for copies";
  if (!changes && bytes <= budget_) {
    budget_ -= bytes;
    return {name, Location::kDevice, bytes, "fits: takes " + sizes};
  }
  const ReadingRates rates = measure();
  const std::string why =
      changes ? "not copied: it may be written; " : "too large: would take " + sizes + "; ";
  if (rates.in_place == 0)
    return {name, Location::kStaged, bytes, why + "not in place: " + rates.refusal};
  const Location faster = rates.in_place >= rates.staged ? Location::kInPlace : Location::kStaged;
  return {name, faster, bytes, why + describe(rates)};
}

std::shared_ptr<const RowSource> place_rows(const Table& table,
                                            const RowSourceOptions& options,
                                            bool may_stage,
                                            PlacementDecision& decision) {
  try {
    return make_row_source(table, options);
  } catch (const Error& error) {
    if (!may_stage || options.placement != Location::kInPlace || !is_refusal(error)) throw;
    decision.why += concat("; not in place: ", error.what());
  }
  RowSourceOptions staged = options;
  staged.cached = {};
  staged.placement = decision.placement = Location::kStaged;
  return make_row_source(table, staged);
}

}  // namespace ramet
