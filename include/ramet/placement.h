// Placement: the home of a table or a topology, and how a device reads it.
//
// A value. Failure: kInvalidArgument for a name that is not allowed, listing the allowed ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ramet {

// How memory is divided between its users.
enum class Layout : uint8_t {
  kContinuous,  // one array
};

enum class Location : uint8_t {
  // With a device: a copy if it fits into device memory, else the faster of kInPlace and kStaged.
  // On the host: kDisk if it does not fit in memory, else kInPlace.
  kAuto,
  kDevice,      // a copy in device memory
  kInPlace,     // host memory, page-locked; kernels read it over the bus, all processes share it
  kStaged,      // host memory; processors gather or sample into page-locked memory, which is copied
  kPinnedCopy,  // a copy in page-locked memory of this process, for where registration is refused
  kDisk,        // files; requests of a RowReader read single rows of them
};

struct Placement {
  // A Location converts to the continuous layout at that location.
  constexpr Placement(Location where = Location::kAuto, Layout how = Layout::kContinuous)
      : location(where), layout(how) {}
  bool operator==(const Placement&) const = default;

  Location location;
  Layout layout;
};

// "auto", "device", "in_place", "staged", "pinned_copy", "disk".
[[nodiscard]] const char* name(Location location);
// The location of that name; kInvalidArgument naming `what` unless it is one of `allowed`.
[[nodiscard]] Location location_named(std::string_view name,
                                      std::span<const Location> allowed,
                                      const std::string& what);

// The decision on one table, or on the "topology", and its reason.
struct PlacementDecision {
  std::string name;
  Placement placement;
  int64_t bytes = 0;  // of the whole table or topology
  std::string why;
};

}  // namespace ramet
