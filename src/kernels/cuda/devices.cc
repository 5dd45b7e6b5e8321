#include <cstdio>
#include <string>

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

// Makes no context, which takes some hundred MB of the device's memory.
CudaDevice describe_cuda_device(int device) {
  check_not_forked();
  cudaDeviceProp properties{};
  const std::string call = concat("asking for the properties of device ", device);
  check_cuda(cudaGetDeviceProperties(&properties, device), call.c_str());
  char bus_id[32];
  std::snprintf(bus_id, sizeof(bus_id), "%04x:%02x:%02x.0", unsigned(properties.pciDomainID),
                unsigned(properties.pciBusID), unsigned(properties.pciDeviceID));
  return {.name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .num_sms = properties.multiProcessorCount,
          .total_bytes = int64_t(properties.totalGlobalMem),
          .l2_bytes = properties.l2CacheSize,
          .pci_bus_id = bus_id};
}

int64_t free_cuda_bytes(int device) {
  const DeviceScope scope(device);
  size_t free = 0;
  size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
  return int64_t(free);
}

}  // namespace ramet
