// CUDA as users of the library see it: whether it is there, its devices, and the streams that work
// is given to. cuda_memory.h, cuda_table.h and cuda_sampler.h do the work.
//
// Devices are numbered as CUDA numbers them. Threads: any, at any time. Forks: CUDA does not
// survive a fork; in the child of a process that has used it every call throws, naming both
// processes. Failure: kDevice where the library was built without CUDA, where there is no GPU, or
// the driver refuses.
#pragma once

#include <cstdint>
#include <string>

namespace ramet {

// CUDA's own handle (cudaStream_t), so a caller may pass one of another library; nullptr is CUDA's
// default stream. Calls that take a stream are asynchronous: their memory must live until the
// stream has finished.
using CudaStreamHandle = void*;

// A limit on the multiprocessors of a gather: as many as keep the bus busy where it reads memory of
// the host, else all.
inline constexpr int kEnoughSms = -1;

struct CudaDevice {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;  // compute capability
  int num_sms = 0;           // multiprocessors
  int64_t total_bytes = 0;
  int64_t l2_bytes = 0;
  std::string pci_bus_id;
};

struct CudaVersions {
  int build = 0;   // of the toolkit that the library was built with, as CUDA writes it: 13000
  int driver = 0;  // the newest that the driver supports; 0: there is no driver
};

// "cuda", or "emulated" in tests; nullptr where the library was built without CUDA.
[[nodiscard]] const char* cuda_backend_name();
// What tensors of other libraries call device memory: kDLCUDA.
[[nodiscard]] int cuda_dlpack_device_type();
[[nodiscard]] CudaVersions cuda_versions();
// At least 1; kDevice says why there is none.
[[nodiscard]] int cuda_num_devices();
// Makes no context on the device.
[[nodiscard]] CudaDevice cuda_device(int device);
// Free memory of the device, on which this makes a context.
[[nodiscard]] int64_t cuda_free_bytes(int device);
// Waits for what all streams of the device were given so far; errors of kernels appear here.
void cuda_synchronize(int device);

}  // namespace ramet
