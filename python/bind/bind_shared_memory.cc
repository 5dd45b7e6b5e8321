#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/shared_memory.h"

namespace ramet::bind {

namespace {

// uint8[bytes], writable, with (memory, offset) of each piece.
Array map_memory(const std::vector<std::pair<SharedMemory, int64_t>>& pieces, int64_t bytes) {
  std::vector<PlacedMemory> placed;
  for (const auto& [memory, offset] : pieces)
    placed.push_back({memory, offset});
  const std::shared_ptr<std::byte> mapped = map_side_by_side(placed, bytes);
  return {mapped.get(), DType::kUInt8, {bytes}, mapped, true};
}

}  // namespace

void bind_shared_memory(nb::module_& m) {
  nb::class_<SharedMemory>(m, "SharedMemory")
      .def_static("create", &SharedMemory::create, nb::arg("bytes"), nb::call_guard<GilRelease>())
      .def_static("open", &SharedMemory::open, nb::arg("fd"))
      .def_prop_ro("fd", &SharedMemory::fd)
      .def_prop_ro("bytes", &SharedMemory::bytes)
      .def_prop_ro("identity", &SharedMemory::identity);
  m.def("map_side_by_side", &map_memory, nb::arg("pieces"), nb::arg("bytes"));
}

}  // namespace ramet::bind
