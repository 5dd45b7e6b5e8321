// Ids in kernels: of either width, and what becomes of those that are out of range.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ramet {

// The width is the same for all, so the branch costs nothing beside the load.
__device__ inline int64_t id_at(const void* ids, bool wide, int64_t i) {
  return wide ? int64_t{__ldg(static_cast<const long long*>(ids) + i)}
              : int64_t{__ldg(static_cast<const int*>(ids) + i)};
}

// Negative ids are outside, too.
__device__ inline bool is_row(int64_t id, int64_t num_rows) {
  return static_cast<uint64_t>(id) < static_cast<uint64_t>(num_rows);
}

__device__ inline void report_bad(uint64_t* bad, int64_t position) {
  if (bad == nullptr) return;
  atomicMin(reinterpret_cast<unsigned long long*>(bad), static_cast<unsigned long long>(position));
}

}  // namespace ramet
