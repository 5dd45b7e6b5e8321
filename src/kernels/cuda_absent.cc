// Stands in for the CUDA backend where the library is built without it.
#include "ramet/kernels.h"

namespace ramet {

const Kernels* cuda_kernels() {
  return nullptr;
}

}  // namespace ramet
