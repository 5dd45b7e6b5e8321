// What all steps of sampling on a device have in common: where they run, and their memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda_backend.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda_memory.h"

namespace ramet {

// A device, a stream to which everything is given, and a pool that serves it.
struct CudaWork {
  int device;
  CudaStreamHandle stream;
  std::shared_ptr<BufferPool> pool;
  const CudaRuntime& runtime = require_cuda().runtime;
  const CudaSamplingKernels& kernels = require_cuda().sampling;

  [[nodiscard]] Array allocate(DType dtype, int64_t count) const {
    Array array = pool->allocate_array(dtype, {count});
    array.device = device;
    return array;
  }
  void copy(void* to, const void* from, int64_t bytes) const {
    if (bytes > 0) runtime.copy(device, to, from, bytes, stream);
  }
  void fill(void* data, uint8_t byte, int64_t bytes) const {
    if (bytes > 0) runtime.fill(device, data, byte, bytes, stream);
  }
  void wait() const { runtime.synchronize(device, stream); }
  // One value of the device's, or of the host's that it reads in place, now.
  template <typename T>
  [[nodiscard]] T read(const T* from) const {
    T value{};
    copy(&value, from, sizeof(T));
    wait();
    return value;
  }
};

// Scratch memory of a device, which grows and is kept.
template <typename T>
class CudaScratchArray {
 public:
  // Room for `count` elements, of which the first `kept` stay what they are.
  T* reserve(const CudaWork& work, int64_t count, int64_t kept = 0) {
    if (count <= capacity_) return data();
    const int64_t wanted = std::max(count, capacity_ + capacity_ / 2);
    if (kept == 0) *this = {};  // not both at once
    auto grown = work.pool->allocate(wanted * static_cast<int64_t>(sizeof(T)));
    work.copy(grown.get(), memory_.get(), kept * static_cast<int64_t>(sizeof(T)));
    memory_ = std::move(grown);
    capacity_ = wanted;
    return data();
  }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }
  [[nodiscard]] int64_t capacity() const { return capacity_; }

 private:
  std::shared_ptr<void> memory_;
  int64_t capacity_ = 0;
};

// Memory for running sums.
class CudaSumScratch {
 public:
  CudaScratch reserve(const CudaWork& work, int64_t count) {
    if (count > count_) {
      count_ = std::max(count, 2 * count_);
      bytes_ = work.kernels.scan_bytes(work.device, count_);
    }
    return {memory_.reserve(work, bytes_), bytes_};
  }

 private:
  CudaScratchArray<char> memory_;
  int64_t count_ = 0, bytes_ = 0;
};

// Numbers by which kernels report, read together when the host waits for them.
class CudaReport {
 public:
  CudaReport(const CudaWork& work, size_t numbers)
      : work_(work),
        bytes_(static_cast<int64_t>(numbers * sizeof(int64_t))),
        host_(create_pinned_pool()->allocate(bytes_)) {
    work.fill(device_.reserve(work, static_cast<int64_t>(numbers)), 0, bytes_);
  }

  // Where kernels write number i.
  [[nodiscard]] int64_t* at(size_t i) const { return device_.data() + i; }
  [[nodiscard]] uint64_t* bad(size_t i) const { return reinterpret_cast<uint64_t*>(at(i)); }
  // Number i, as it was at the last wait().
  [[nodiscard]] int64_t operator[](size_t i) const { return host()[i]; }
  [[nodiscard]] bool is_bad(size_t i) const { return static_cast<uint64_t>(host()[i]) != kNoneBad; }

  // From here on nothing is bad: `count` numbers from `first`.
  void clear_bad(size_t first, size_t count) {
    work_.fill(at(first), 0xff, static_cast<int64_t>(count * sizeof(int64_t)));
  }
  void set(size_t i, const int64_t* from) { work_.copy(at(i), from, sizeof(int64_t)); }
  void wait() {
    work_.copy(host_.get(), device_.data(), bytes_);
    work_.wait();
  }

 private:
  [[nodiscard]] const int64_t* host() const { return static_cast<const int64_t*>(host_.get()); }

  const CudaWork& work_;
  int64_t bytes_;
  std::shared_ptr<void> host_;
  CudaScratchArray<int64_t> device_;
};

}  // namespace ramet
