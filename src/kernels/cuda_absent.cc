// Stands in for src/kernels/cuda/ where the library is built without it.
#include "ramet/cuda.h"

namespace ramet {

const CudaBackend* cuda_backend() {
  return nullptr;
}

}  // namespace ramet
