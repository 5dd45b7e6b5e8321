// Compiled for AVX-512 F, BW, DQ and VL; see floyd_lanes.h for the algorithm.
#include "floyd_lanes.h"
#include "lanes_avx512.h"

namespace ramet {

FloydKernel floyd_avx512() {
  return floyd_lanes<Avx512>;
}

}  // namespace ramet
