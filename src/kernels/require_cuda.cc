#include "ramet/cuda.h"
#include "ramet/error.h"

namespace ramet {

const CudaBackend& require_cuda() {
  const CudaBackend* backend = cuda_backend();
  if (backend != nullptr) return *backend;
  throw Error(ErrorCode::kDevice,
              "this build of ramet has no CUDA; build it with -DRAMET_CUDA=ON (docs/cuda.md)");
}

}  // namespace ramet
