// The one way in which kernels start.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "kernels/cuda/check.h"
#include "kernels/cuda/last_launch.h"

namespace ramet {

// Starts `kernel` on the current device. Arguments convert to the kernel's parameters, as in a
// call. Throws an Error that names the kernel where it cannot start.
template <typename... Parameters, typename... Arguments>
void launch(const char* name,
            void (*kernel)(Parameters...),
            dim3 grid,
            dim3 block,
            cudaStream_t stream,
            Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  launch_of_thread().set(name);
  const cudaError_t error =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  if (error != cudaSuccess) [[unlikely]]
    fail_launch(error, name, grid, block);  // it may report what an earlier kernel did
  last_launch().store(name, std::memory_order_relaxed);
}

}  // namespace ramet
