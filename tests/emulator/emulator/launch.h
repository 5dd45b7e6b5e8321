// Kernel launches.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/runtime_api.h"
#include "emulator/vector_types.h"

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;  // not emulated
  cudaStream_t stream;
};

namespace emulator {

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread);
// Work of a library that runs kernels of its own.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace emulator

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                               void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  std::tuple<std::remove_cvref_t<Parameters>...> copies(std::forward<Arguments>(arguments)...);
  return emulator::launch(*config, [kernel, copies] { std::apply(kernel, copies); });
}
