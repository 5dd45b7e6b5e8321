// CUDA for users of the library: its presence, devices and streams. cuda_memory.h, cuda_table.h and
// cuda_sampler.h do the work.
//
// Devices are numbered as CUDA numbers them. Threads: any, at any time. Forks: CUDA does not
// survive a fork; in the child of a process that has used it every call throws, naming both
// processes. Failure: kDevice if the library was built without CUDA, without a GPU, or if the
// driver refuses.
#pragma once

#include <cstdint>
#include <string>

namespace ramet {

// CUDA's own handle (cudaStream_t), so a caller may pass one of another library; nullptr is CUDA's
// default stream. Calls that take a stream are asynchronous: their memory must live until the
// stream has finished.
using CudaStreamHandle = void*;

// A limit on the multiprocessors of a gather: enough to keep the bus busy if it reads host memory,
// else all.
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

// "cuda", or "emulated" in tests; nullptr in a build without CUDA.
[[nodiscard]] const char* cuda_backend_name();
// The name of device memory in DLPack: kDLCUDA.
[[nodiscard]] int cuda_dlpack_device_type();
[[nodiscard]] CudaVersions cuda_versions();
// At least 1; the kDevice error has the reason for none.
[[nodiscard]] int cuda_num_devices();
// Makes no context on the device.
[[nodiscard]] CudaDevice cuda_device(int device);
// Free memory of the device, on which this makes a context.
[[nodiscard]] int64_t cuda_free_bytes(int device);
// Waits for all work submitted to streams of the device so far; errors of kernels appear here.
void cuda_synchronize(int device);

}  // namespace ramet
