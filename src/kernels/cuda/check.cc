#include "kernels/cuda/check.h"

#include <unistd.h>

#include <string>

#include "kernels/cuda/last_launch.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::string version(int number) {  // 13010 is 13.1
  return concat(number / 1000, ".", number % 1000 / 10);
}

std::string about_driver() {
  int build = 0;
  int driver = 0;
  cudaRuntimeGetVersion(&build);
  cudaDriverGetVersion(&driver);
  const std::string built = "this library was built with CUDA " + version(build);
  if (driver == 0) return "there is no NVIDIA driver on this machine (" + built + ")";
  return "the NVIDIA driver knows CUDA up to " + version(driver) + ", and " + built +
         ": install a newer driver, or build with an older CUDA";
}

std::string about_memory() {
  size_t free = 0;
  size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return "";
  return concat("; ", free, " of the device's ", total, " bytes are free");
}

std::string about_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return "";
  return concat("; there are ", count, " devices, counted from 0");
}

// What CUDA's own sentence leaves out.
std::string advice(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "; " + about_driver();
    case cudaErrorMemoryAllocation:
      return about_memory();
    case cudaErrorInvalidDevice:
      return about_devices();
    case cudaErrorInitializationError:
      return concat("; CUDA does not survive a fork: if process ", getppid(),
                    " had used it before it forked process ", getpid(),
                    ", start such processes by spawn");
    case cudaErrorNoKernelImageForDevice:
      return "; the library holds no code for this chip: build it with "
             "-DCMAKE_CUDA_ARCHITECTURES=native";
    // What kernels cause, after which every call fails.
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
      return std::string("; a kernel failed, most likely the one launched last, ") +
             last_launch().load() + "; this process cannot use CUDA any more";
    default:
      return "";
  }
}

std::string on_device() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? " on device " + std::to_string(device) : "";
}

std::string in_words(cudaError_t error) {
  return std::string(": ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
}

std::string with_size(const char* call, int64_t bytes) {
  return call + (bytes >= 0 ? " of " + std::to_string(bytes) + " bytes" : std::string());
}

[[noreturn]] void fail(cudaError_t error, const std::string& what) {
  const std::string location = on_device();
  const std::string help = advice(error);
  clear_cuda_error();
  throw_error(error == cudaErrorMemoryAllocation ? ErrorCode::kNoSpace : ErrorCode::kDevice, what,
              location, in_words(error), help);
}

std::string shape(dim3 d) {
  return concat(d.x, " x ", d.y, " x ", d.z);
}

}  // namespace

void fail_cuda(cudaError_t error, const char* call, int64_t bytes) {
  fail(error, with_size(call, bytes));
}

void fail_host_memory(cudaError_t error, ErrorCode code, const char* call, int64_t bytes) {
  const std::string help = error == cudaErrorMemoryAllocation ? "" : advice(error);
  clear_cuda_error();
  throw_error(code, with_size(call, bytes), in_words(error), help);
}

void fail_launch(cudaError_t error, const char* kernel, dim3 grid, dim3 block) {
  fail(error, std::string("launching kernel ") + kernel + " with " + shape(grid) + " blocks of " +
                  shape(block) + " threads");
}

}  // namespace ramet
