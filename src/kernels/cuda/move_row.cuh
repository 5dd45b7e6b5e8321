// Moving one row by the lanes that share it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/bus_limit.h"

namespace ramet {

// Stores convert(from[u], u) to to[u] for this lane's units u of the `units` that a row has; lane 0
// begins as `access` says of the row at `anchor`, the side whose requests are to be aligned.
// Rows are read once, so they are the first to leave the caches.
template <typename Source, typename Result, typename Convert>
__device__ void move_row(const Source* from,
                         Result* to,
                         int64_t units,
                         const RowAccess& access,
                         const void* anchor,
                         int lane,
                         const Convert& convert) {
  const int64_t first = first_unit(access, reinterpret_cast<uint64_t>(anchor), lane);
  for (int64_t begin = first; begin < units; begin += kLoadsInFlight * access.lanes) {
    Source loaded[kLoadsInFlight];
    for (int step = 0; step < kLoadsInFlight; ++step) {
      const int64_t u = begin + step * access.lanes;
      if (u >= 0 && u < units) loaded[step] = __ldcs(from + u);
    }
    for (int step = 0; step < kLoadsInFlight; ++step) {
      const int64_t u = begin + step * access.lanes;
      if (u >= 0 && u < units) to[u] = convert(loaded[step], u);
    }
  }
}

// Calls launch(Unit{}) with the type of `bytes` bytes that lanes copy.
template <typename Launch>
void with_unit(int bytes, Launch launch) {
  if (bytes == 16) return launch(uint4{});
  if (bytes == 8) return launch(uint2{});
  if (bytes == 4) return launch(static_cast<unsigned>(0));
  if (bytes == 2) return launch(static_cast<unsigned short>(0));
  launch(static_cast<unsigned char>(0));
}

}  // namespace ramet
