// Compiled for AVX2; see labor_lanes.h for the algorithm.
#include "labor_lanes.h"
#include "lanes_avx2.h"

namespace ramet {

LaborKernel labor_avx2() {
  return {labor_scan<Avx2, int32_t>, labor_scan<Avx2, int64_t>, words_of<Avx2>};
}

}  // namespace ramet
