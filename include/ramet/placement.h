// Placement: where a table or a topology lies, and how a device reads it.
//
// Values. Failure: a name that is not among those allowed is kInvalidArgument and lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ramet {

// How memory is divided between those who use it.
enum class Layout : uint8_t {
  kContinuous,  // one array
};

enum class Location : uint8_t {
  kAuto,        // a copy where it fits into device memory, else the faster of kInPlace and kStaged
  kDevice,      // a copy in device memory
  kInPlace,     // host memory, page-locked; kernels read it over the bus, all processes share it
  kStaged,      // host memory; processors gather or sample into page-locked memory, which is copied
  kPinnedCopy,  // a copy in page-locked memory of this process, for where registration is refused
};

struct Placement {
  // A Location stands for the continuous layout there.
  constexpr Placement(Location where = Location::kAuto, Layout how = Layout::kContinuous)
      : location(where), layout(how) {}
  bool operator==(const Placement&) const = default;

  Location location;
  Layout layout;
};

// "auto", "device", "in_place", "staged", "pinned_copy".
[[nodiscard]] const char* name(Location location);
// The location of that name. kInvalidArgument, which names `what`, unless it is one of `allowed`.
[[nodiscard]] Location location_named(std::string_view name,
                                      std::span<const Location> allowed,
                                      const std::string& what);

// What was decided on one table, or on the "topology", and why.
struct PlacementDecision {
  std::string name;
  Placement placement;
  int64_t bytes = 0;  // of the whole table or topology
  std::string why;
};

}  // namespace ramet
