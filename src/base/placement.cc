#include "ramet/placement.h"

#include <algorithm>
#include <utility>

#include "ramet/error.h"

namespace ramet {

const char* name(Location location) {
  switch (location) {
    case Location::kAuto:
      return "auto";
    case Location::kDevice:
      return "device";
    case Location::kInPlace:
      return "in_place";
    case Location::kStaged:
      return "staged";
    case Location::kPinnedCopy:
      return "pinned_copy";
    case Location::kDisk:
      return "disk";
  }
  return "";
}

Location location_named(std::string_view wanted,
                        std::span<const Location> allowed,
                        const std::string& what) {
  std::string names;
  for (const Location location : allowed) {
    if (name(location) == wanted) return location;
    names += (names.empty() ? "'" : ", '") + std::string(name(location)) + "'";
  }
  throw_error(ErrorCode::kInvalidArgument, what, " is '", wanted, "', expected one of ", names);
}

}  // namespace ramet
