// The table of what src/kernels/cuda/ offers.
#include "ramet/cuda.h"

#include "kernels/cuda/devices.h"

namespace ramet {
namespace {

const CudaBackend kBackend{
    .name = RAMET_BACKEND_NAME,
    .runtime = {.versions = cuda_versions, .num_devices = num_cuda_devices},
    .rows = {},
    .sampling = {},
};

}  // namespace

const CudaBackend* cuda_backend() {
  return &kBackend;
}

}  // namespace ramet
