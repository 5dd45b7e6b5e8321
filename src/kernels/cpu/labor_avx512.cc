// Compiled for AVX-512 F, BW, DQ and VL; see labor_lanes.h for the algorithm.
#include "labor_lanes.h"
#include "lanes_avx512.h"

namespace ramet {

LaborKernel labor_avx512() {
  return {labor_scan<Avx512, int32_t>, labor_scan<Avx512, int64_t>, words_of<Avx512>};
}

}  // namespace ramet
