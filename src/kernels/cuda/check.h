// Turns CUDA's errors into ramet::Error: kNoSpace where memory is short, else kDevice.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "ramet/error.h"

namespace ramet {

// Throws. The message names the call, the device, the size where there is one (>= 0), what CUDA
// says, and what to do where that is known.
[[noreturn]] void fail_cuda(cudaError_t error, const char* call, int64_t bytes = -1);
// For calls about memory of the host, of which CUDA's "out of memory" says nothing about a
// device's.
[[noreturn]] void fail_host_memory(cudaError_t error,
                                   ErrorCode code,
                                   const char* call,
                                   int64_t bytes);
[[noreturn]] void fail_launch(cudaError_t error, const char* kernel, dim3 grid, dim3 block);

inline void check_cuda(cudaError_t error, const char* call, int64_t bytes = -1) {
  if (error != cudaSuccess) [[unlikely]]
    fail_cuda(error, call, bytes);
}

// Clears the error that the thread's last call left behind: it has been seen, and the next user of
// CUDA in this thread must not take it for its own.
inline void clear_cuda_error() {
  static_cast<void>(cudaGetLastError());
}

}  // namespace ramet
