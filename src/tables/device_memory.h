// Memory of a device that lives with its last owner, and what is copied there.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "ramet/array.h"
#include "ramet/cuda.h"

namespace ramet {

// Contents undefined. Throws kNoSpace. Freed at once: nothing on the device may still use it.
inline std::shared_ptr<void> allocate_on(int device, int64_t bytes) {
  const CudaRuntime& runtime = require_cuda().runtime;
  return {runtime.allocate(device, std::max<int64_t>(bytes, 1)),
          [device, process = getpid(), &runtime](void* data) {
            if (getpid() == process) runtime.free(device, data);
          }};
}

// Copies `bytes` bytes of the host, and waits for it: work on any stream finds them there.
inline void copy_to(int device, void* to, const void* from, int64_t bytes) {
  const CudaRuntime& runtime = require_cuda().runtime;
  runtime.copy(device, to, from, bytes, nullptr);
  runtime.synchronize(device, nullptr);
}

inline std::shared_ptr<void> copy_on(int device, const void* from, int64_t bytes) {
  std::shared_ptr<void> copy = allocate_on(device, bytes);
  copy_to(device, copy.get(), from, bytes);
  return copy;
}

}  // namespace ramet
