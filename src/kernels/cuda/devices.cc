#include <cstdio>

#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/runtime.h"
#include "ramet/error.h"

namespace ramet {

CudaVersions find_cuda_versions() {
  CudaVersions versions;
  check_cuda(cudaRuntimeGetVersion(&versions.build), "asking for CUDA's version");
  check_cuda(cudaDriverGetVersion(&versions.driver), "asking for the driver's version");
  return versions;
}

int num_cuda_devices() {
  check_not_forked();
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "counting the CUDA devices");
  if (count == 0) fail_cuda(cudaErrorNoDevice, "counting the CUDA devices");
  return count;
}

CudaDevice describe_cuda_device(int device) {
  const DeviceScope scope(device);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "asking for a device's properties");
  size_t free = 0;
  size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
  char bus_id[32];
  std::snprintf(bus_id, sizeof(bus_id), "%04x:%02x:%02x.0", unsigned(properties.pciDomainID),
                unsigned(properties.pciBusID), unsigned(properties.pciDeviceID));
  return {.name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .num_sms = properties.multiProcessorCount,
          .total_bytes = int64_t(total),
          .free_bytes = int64_t(free),
          .l2_bytes = properties.l2CacheSize,
          .pci_bus_id = bus_id};
}

}  // namespace ramet
