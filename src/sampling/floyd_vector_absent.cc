// Stands in for the vector kernels where the build's processor has none of these instructions.
#include "floyd.h"

namespace ramet {

FloydKernel floyd_avx2() {
  return nullptr;
}

FloydKernel floyd_avx512() {
  return nullptr;
}

}  // namespace ramet
