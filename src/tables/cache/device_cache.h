// The rows of a table that are read most, in device memory in front of it.
#pragma once

#include <memory>

#include "kernels/cuda_rows.h"
#include "ramet/table.h"

namespace ramet {

struct DeviceCache {
  CudaRowCache view;  // of the memory below, without a counter
  int64_t num_rows = 0;
  int64_t bytes = 0;
  std::shared_ptr<const void> slot, rows, scale;
};

// A copy of the rows `ids` (int32 or int64 [n] on the host); `rows`: in this memory of the device,
// as it is. kOutOfRange, kInvalidArgument.
[[nodiscard]] DeviceCache make_device_cache(const Table& table,
                                            const Array& ids,
                                            const Array& rows,
                                            int device);

}  // namespace ramet
