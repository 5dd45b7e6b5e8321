#include "kernels/cuda/devices.h"

#include "kernels/cuda/check.h"

namespace ramet {

CudaVersions cuda_versions() {
  CudaVersions versions;
  cudaRuntimeGetVersion(&versions.build);
  cudaDriverGetVersion(&versions.driver);
  return versions;
}

int num_cuda_devices() {
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

}  // namespace ramet
