// Memory for tests of the row kernels: tables and outputs at any alignment, on the device.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda_backend.h"
#include "ramet/array.h"

namespace ramet {

inline const CudaRuntime& runtime() {
  return require_cuda().runtime;
}

// `size` bytes of the device that begin `offset` bytes behind an aligned address, and end where the
// memory does, so that what is touched behind them is an error.
class DeviceBytes {
 public:
  DeviceBytes(size_t size, size_t offset = 0)
      : size_(size), data_(static_cast<char*>(runtime().allocate(0, long(size + offset + 1)))) {
    at_ = data_ + offset;
  }
  template <typename T>
  explicit DeviceBytes(const std::vector<T>& values, size_t offset = 0)
      : DeviceBytes(values.size() * sizeof(T), offset) {
    runtime().copy(0, at_, values.data(), long(size_), nullptr);
    runtime().synchronize(0, nullptr);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  ~DeviceBytes() { runtime().free(0, data_); }

  void* get() const { return at_; }
  size_t size() const { return size_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(at_);
  }
  void fill(uint8_t byte) { runtime().fill(0, at_, byte, long(size_), nullptr); }
  template <typename T>
  std::vector<T> read() const {
    std::vector<T> values(size_ / sizeof(T));
    runtime().synchronize(0, nullptr);
    runtime().copy(0, values.data(), at_, long(size_), nullptr);
    runtime().synchronize(0, nullptr);
    return values;
  }

 private:
  size_t size_;
  char* data_;
  char* at_;
};

inline Array on_device(const DeviceBytes& bytes, DType dtype, std::vector<int64_t> shape) {
  return {bytes.get(), dtype, std::move(shape), nullptr, true, 0};
}

// Whether these are the bytes of an array of the host.
inline bool holds(const DeviceBytes& bytes, const Array& expected) {
  return std::memcmp(bytes.read<uint8_t>().data(), expected.data, size_t(expected.bytes())) == 0;
}

// Bytes without a pattern.
inline std::vector<uint8_t> noise(size_t size, uint64_t seed = 1) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = uint8_t(seed >> 56);
  }
  return bytes;
}

inline std::vector<int64_t> some_ids(size_t count, int64_t num_rows) {
  std::vector<int64_t> ids(count);
  for (size_t i = 0; i < count; ++i)
    ids[i] = int64_t((i * 7919 + i / 3) % size_t(num_rows));
  return ids;
}

}  // namespace ramet
