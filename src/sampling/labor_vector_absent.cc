// Stands in for the vector kernels where the build's processor has none of these instructions.
#include "labor_scan.h"

namespace ramet {

LaborKernel labor_avx2() {
  return {};
}

LaborKernel labor_avx512() {
  return {};
}

}  // namespace ramet
