#include "ramet/cuda.h"

#include "kernels/cuda_backend.h"
#include "ramet/error.h"

namespace ramet {

const CudaBackend& require_cuda() {
  const CudaBackend* backend = cuda_backend();
  if (backend != nullptr) return *backend;
  throw_error(ErrorCode::kDevice,
              "this build of ramet has no CUDA; build it with -DRAMET_CUDA=ON (docs/cuda.md)");
}

const char* cuda_backend_name() {
  const CudaBackend* backend = cuda_backend();
  return backend == nullptr ? nullptr : backend->name;
}

int cuda_dlpack_device_type() {
  return require_cuda().dlpack_device_type;
}

CudaVersions cuda_versions() {
  return require_cuda().runtime.versions();
}

int cuda_num_devices() {
  return require_cuda().runtime.num_devices();
}

CudaDevice cuda_device(int device) {
  return require_cuda().runtime.describe(device);
}

int64_t cuda_free_bytes(int device) {
  return require_cuda().runtime.free_bytes(device);
}

void cuda_synchronize(int device) {
  require_cuda().runtime.synchronize_all(device);
}

}  // namespace ramet
