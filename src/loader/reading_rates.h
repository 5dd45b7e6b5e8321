// How fast a device gets at rows of a table that stays in host memory.
#pragma once

#include "gather_table.h"
#include "placement.h"
#include "ramet/cuda_memory.h"

namespace ramet {

// Gathers a few thousand random rows, both ways, three times; the fastest counts. kNoSpace,
// kDevice.
[[nodiscard]] ReadingRates measure_reading(const NeighborLoader& loader,
                                           const TableRequest& request,
                                           DevicePool& pool);

}  // namespace ramet
