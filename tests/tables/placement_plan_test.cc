// What is copied to a device, and which of two ways reads the rest.
#include "tables/device/placement_plan.h"

#include <doctest/doctest.h>

#include "ramet/error.h"

using namespace ramet;

namespace {

ReadingRates never() {
  FAIL("measured where nothing depends on it");
  return {};
}

}  // namespace

TEST_CASE("what fits is copied, until the budget is used up") {
  PlacementPlan plan(100);
  CHECK(plan.decide("a", 60, Location::kAuto, never).placement == Location::kDevice);
  const auto rates = [] { return ReadingRates{2e9, 1e9, ""}; };
  const PlacementDecision b = plan.decide("b", 41, Location::kAuto, rates);
  CHECK(b.placement == Location::kInPlace);
  CHECK(b.bytes == 41);
  CHECK(b.why.find("measured 2 GB/s in place, 1 GB/s staged") != std::string::npos);
  CHECK(plan.decide("c", 40, Location::kAuto, never).placement == Location::kDevice);
  CHECK(plan.decide("empty", 0, Location::kAuto, never).placement == Location::kDevice);
}

TEST_CASE("the faster way reads what does not fit, and a refusal is told") {
  PlacementPlan plan(0);
  const auto staged = [] { return ReadingRates{1e9, 3e9, ""}; };
  CHECK(plan.decide("a", 1, Location::kAuto, staged).placement == Location::kStaged);
  const auto refused = [] { return ReadingRates{0, 3e9, "the driver refused"}; };
  const PlacementDecision b = plan.decide("b", 1, Location::kAuto, refused);
  CHECK(b.placement == Location::kStaged);
  CHECK(b.why.find("not in place: the driver refused") != std::string::npos);
}

TEST_CASE("what the user asks for is done, and counts") {
  PlacementPlan plan(100);
  for (const Location wanted : {Location::kStaged, Location::kInPlace, Location::kDevice}) {
    const PlacementDecision placed = plan.decide("a", 80, wanted, never);
    CHECK(placed.placement == wanted);
    CHECK(placed.why == "as asked");
  }
  const auto rates = [] { return ReadingRates{1, 2, ""}; };
  CHECK(plan.decide("b", 30, Location::kAuto, rates).placement == Location::kStaged);
}

TEST_CASE("what may be written is not copied") {
  PlacementPlan plan(100);
  const auto rates = [] { return ReadingRates{2, 1}; };
  CHECK(plan.decide("a", 1, Location::kAuto, rates, true).placement == Location::kInPlace);
  CHECK_THROWS_WITH_AS(static_cast<void>(plan.decide("a", 1, Location::kDevice, rates, true)),
                       doctest::Contains("but its rows may be written"), Error);
}

TEST_CASE("locations have names, of which some are allowed") {
  const Location all[] = {Location::kAuto,   Location::kDevice,     Location::kInPlace,
                          Location::kStaged, Location::kPinnedCopy, Location::kDisk};
  for (const Location location : all) {
    CHECK(location_named(name(location), kDeviceTables | kCudaTables | kHostTables, "placement") ==
          location);
    CHECK(reads_ahead(location) == (location == Location::kDisk));
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(location_named("staged", kCudaTables, "placement")),
                       "placement is 'staged', expected one of 'device', 'in_place', 'pinned_copy'",
                       Error);
}
