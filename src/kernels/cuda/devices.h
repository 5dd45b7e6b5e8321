// Which devices there are.
#pragma once

#include "ramet/cuda.h"

namespace ramet {

CudaVersions cuda_versions();
int num_cuda_devices();
CudaDevice describe_cuda_device(int device);

}  // namespace ramet
