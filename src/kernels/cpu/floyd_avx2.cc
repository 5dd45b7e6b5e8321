// Compiled for AVX2; see floyd_lanes.h for the algorithm.
#include "floyd_lanes.h"
#include "lanes_avx2.h"

namespace ramet {

FloydKernel floyd_avx2() {
  return floyd_lanes<Avx2>;
}

}  // namespace ramet
