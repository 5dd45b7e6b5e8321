// A block's threads sort together.
#pragma once

#include <cuda_runtime.h>

namespace ramet {

// By Batcher's bitonic sort ("Sorting networks and their applications", 1968) in the form whose
// comparators all point the same way: two sorted runs are merged by a comparison with the mirror
// image, and then at halved distances. So what lies beyond the end counts as largest, and is left
// out. `values` are in shared or global memory; all threads of the block call it.
template <typename Value, typename Count>
__device__ void sort_by_block(Value* values, Count count) {
  for (Count run = 1; run < count; run *= 2) {
    Count flip = 2 * run - 1;
    for (Count distance = run; distance > 0; distance /= 2) {
      for (Count i = threadIdx.x; i < count; i += blockDim.x) {
        const Count other = i ^ flip;
        if (other < i || other >= count || !(values[other] < values[i])) continue;
        const Value larger = values[i];
        values[i] = values[other];
        values[other] = larger;
      }
      __syncthreads();
      flip = distance / 2;
    }
  }
}

}  // namespace ramet
