// What is copied to a device, and which of two ways reads the rest.
#include "loader/placement.h"

#include <doctest/doctest.h>

using namespace ramet;

namespace {

ReadingRates never() {
  FAIL("measured where nothing depends on it");
  return {};
}

}  // namespace

TEST_CASE("what fits is copied, until the budget is used up") {
  PlacementPlan plan(100);
  CHECK(plan.place("a", 60, Placement::kAuto, never).placement == Placement::kDevice);
  const auto rates = [] { return ReadingRates{2e9, 1e9, ""}; };
  const PlacedTable b = plan.place("b", 41, Placement::kAuto, rates);
  CHECK(b.placement == Placement::kInPlace);
  CHECK(b.bytes == 41);
  CHECK(b.why.find("measured 2 GB/s in place, 1 GB/s staged") != std::string::npos);
  CHECK(plan.place("c", 40, Placement::kAuto, never).placement == Placement::kDevice);
  CHECK(plan.place("empty", 0, Placement::kAuto, never).placement == Placement::kDevice);
}

TEST_CASE("the faster way reads what does not fit, and a refusal is told") {
  PlacementPlan plan(0);
  const auto staged = [] { return ReadingRates{1e9, 3e9, ""}; };
  CHECK(plan.place("a", 1, Placement::kAuto, staged).placement == Placement::kStaged);
  const auto refused = [] { return ReadingRates{0, 3e9, "the driver refused"}; };
  const PlacedTable b = plan.place("b", 1, Placement::kAuto, refused);
  CHECK(b.placement == Placement::kStaged);
  CHECK(b.why.find("not in place: the driver refused") != std::string::npos);
}

TEST_CASE("what the user asks for is done, and counts") {
  PlacementPlan plan(100);
  for (const Placement wanted : {Placement::kStaged, Placement::kInPlace, Placement::kDevice}) {
    const PlacedTable placed = plan.place("a", 80, wanted, never);
    CHECK(placed.placement == wanted);
    CHECK(placed.why == "as asked");
  }
  const auto rates = [] { return ReadingRates{1, 2, ""}; };
  CHECK(plan.place("b", 30, Placement::kAuto, rates).placement == Placement::kStaged);
}
