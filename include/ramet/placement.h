// Location: the home of a table or a topology, and how a device reads it.
//
// Failure: kInvalidArgument for a name that is not allowed, listing the allowed ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ramet {

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

// What a location can do; combined by `|`.
using LocationTraits = unsigned;
inline constexpr LocationTraits kHostTables = 1;    // has tables of a loader of host batches
inline constexpr LocationTraits kDeviceTables = 2;  // has tables of a loader with a device
inline constexpr LocationTraits kTopologies = 4;    // has the topology of a loader
inline constexpr LocationTraits kCudaTables = 8;    // has the rows of a CudaTable
inline constexpr LocationTraits kByRequests = 16;   // rows come by requests, best made ahead

// "auto", "device", "in_place", "staged", "pinned_copy", "disk".
[[nodiscard]] const char* name(Location location);
// Whether a location has kByRequests.
[[nodiscard]] bool reads_ahead(Location location);
// The names of locations that have one of these traits.
[[nodiscard]] std::vector<std::string> location_names(LocationTraits traits);
// The location of one of these names; else kInvalidArgument, which names `what`.
[[nodiscard]] Location location_named(std::string_view name,
                                      LocationTraits traits,
                                      const std::string& what);

// The decision on one table, or on the "topology", and its reason.
struct PlacementDecision {
  std::string name;
  Location placement = Location::kAuto;
  int64_t bytes = 0;  // of the whole table or topology
  std::string why;
};

}  // namespace ramet
