// Arrays of a device as tests look at them.
#pragma once

#include <vector>

#include "kernels/cuda_backend.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"

namespace ramet::test {

// A copy in host memory, of an Array that is complete.
inline Array on_host(const Array& array) {
  Array result = BufferPool::create()->allocate_array(array.dtype, array.shape);
  if (array.bytes() == 0) return result;
  const CudaRuntime& cuda = require_cuda().runtime;
  cuda.copy(array.device, result.data, array.data, array.bytes(), nullptr);
  cuda.synchronize(array.device, nullptr);
  return result;
}

template <typename T>
std::vector<T> values_of(const Array& array) {
  const Array there = array.device == kHost ? array : on_host(array);
  const auto values = there.as<T>();
  return {values.begin(), values.end()};
}

}  // namespace ramet::test
