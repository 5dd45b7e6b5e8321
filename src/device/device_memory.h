// Memory of a device, and page-locked memory, that live with their last owner, and what is copied
// there.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/parallel.h"
#include "base/system/space.h"
#include "kernels/cuda_backend.h"
#include "ramet/array.h"
#include "ramet/error.h"

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

// Whether memory could not be page-locked, but may be read another way: staged, or from a copy.
inline bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::kDevice || error.code() == ErrorCode::kNoSpace;
}

// A copy in page-locked memory of this process. kNoSpace where less memory is available.
inline Array pinned_copy(const Array& array) {
  require_memory(array.bytes(), "a page-locked copy of " + array.describe());
  const CudaRuntime& runtime = require_cuda().runtime;
  Array copy = array;
  copy.data = runtime.allocate_pinned(std::max<int64_t>(array.bytes(), 1));
  copy.owner = {copy.data, [process = getpid(), &runtime](void* data) {
                  if (getpid() == process) runtime.free_pinned(data);
                }};
  parallel_for(array.bytes(), int64_t{4} << 20, 0, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(copy.data) + begin, static_cast<const char*>(array.data) + begin,
                static_cast<size_t>(end - begin));
  });
  return copy;
}

}  // namespace ramet
