// Stands in for src/kernels/cuda/ where the library is built without it.
#include "kernels/cuda_backend.h"

namespace ramet {

const CudaBackend* cuda_backend() {
  return nullptr;
}

}  // namespace ramet
