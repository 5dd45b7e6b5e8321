// Memory of devices and of the host.
#include <string>

#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/runtime.h"
#include "ramet/error.h"

namespace ramet {
namespace {

bool has(cudaDeviceAttr attribute) {
  const int device = any_device();
  const DeviceScope scope(device);
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "asking what can be registered");
  return value != 0;
}

cudaMemoryType type_of(const void* data) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, data), "asking where memory is");
  return attributes.type;
}

// Ordinary memory: CUDA leaves open whether an asynchronous copy returns before it is done with it.
bool is_pageable(const void* data) {
  return type_of(data) == cudaMemoryTypeUnregistered;
}

// CUDA refuses a copy whose memory of the host is page-locked in part, or in pieces: what shares
// the last page of a registered array, say. Halves of such a copy come to end where a piece does.
cudaError_t copy_pieces(char* to, const char* from, size_t bytes, cudaStream_t stream) {
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
  if (error == cudaErrorInvalidValue && bytes > 1) {
    clear_cuda_error();
    const size_t half = bytes / 2;
    error = copy_pieces(to, from, half, stream);
    return error == cudaSuccess ? copy_pieces(to + half, from + half, bytes - half, stream) : error;
  }
  const bool waits = error == cudaSuccess && (is_pageable(to) || is_pageable(from));
  return waits ? cudaStreamSynchronize(stream) : error;
}

}  // namespace

void* allocate_on_device(int device, int64_t bytes) {
  const DeviceScope scope(device);
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, size_t(bytes)), "allocating device memory", bytes);
  return data;
}

void free_on_device(int device, void* data) {
  release_on(device, [&] { return cudaFree(data); });
}

void* allocate_pinned(int64_t bytes) {
  const DeviceScope scope(any_device());
  void* data = nullptr;
  const cudaError_t error =
      cudaHostAlloc(&data, size_t(bytes), cudaHostAllocPortable | cudaHostAllocMapped);
  if (error == cudaSuccess) return data;
  fail_host_memory(error, ErrorCode::kNoSpace, "allocating page-locked memory", bytes);
}

void free_pinned(void* data) {
  release_on(any_device(), [&] { return cudaFreeHost(data); });
}

// With host page tables a device reads whatever the host does, and the flag is not needed.
bool registers_read_only() {
  return has(cudaDevAttrHostRegisterReadOnlySupported) ||
         has(cudaDevAttrPageableMemoryAccessUsesHostPageTables);
}

void register_host(const void* data, int64_t bytes, bool writable) {
  check_not_forked();
  const DeviceScope scope(any_device());
  unsigned flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  if (!writable && has(cudaDevAttrHostRegisterReadOnlySupported)) flags |= cudaHostRegisterReadOnly;
  const cudaError_t error = cudaHostRegister(const_cast<void*>(data), size_t(bytes), flags);
  if (error == cudaSuccess) return;
  fail_host_memory(
      error, ErrorCode::kDevice,
      writable ? "registering writable host memory" : "registering read-only host memory", bytes);
}

void unregister_host(const void* data) {
  release_on(any_device(), [&] { return cudaHostUnregister(const_cast<void*>(data)); });
}

void* device_address(int device, const void* registered) {
  const DeviceScope scope(device);
  void* address = nullptr;
  check_cuda(cudaHostGetDevicePointer(&address, const_cast<void*>(registered), 0),
             "asking for the device's address of registered memory");
  return address;
}

bool is_page_locked(const void* data) {
  const DeviceScope scope(any_device());  // asking makes a context where the thread is
  return type_of(data) == cudaMemoryTypeHost;
}

void copy(int device, void* to, const void* from, int64_t bytes, CudaStreamHandle stream) {
  if (bytes == 0) return;
  const DeviceScope scope(device);
  check_cuda(copy_pieces(static_cast<char*>(to), static_cast<const char*>(from), size_t(bytes),
                         static_cast<cudaStream_t>(stream)),
             "a copy", bytes);
}

void fill(int device, void* data, uint8_t byte, int64_t bytes, CudaStreamHandle stream) {
  if (bytes == 0) return;
  const DeviceScope scope(device);
  const auto on = static_cast<cudaStream_t>(stream);
  check_cuda(cudaMemsetAsync(data, byte, size_t(bytes), on), "filling device memory", bytes);
}

void clear_columns(int device,
                   void* data,
                   int64_t row_bytes,
                   int64_t bytes,
                   int64_t count,
                   CudaStreamHandle stream) {
  if (bytes == 0 || count == 0) return;
  const DeviceScope scope(device);
  check_cuda(cudaMemset2DAsync(data, size_t(row_bytes), 0, size_t(bytes), size_t(count),
                               static_cast<cudaStream_t>(stream)),
             "clearing columns of device memory", bytes * count);
}

}  // namespace ramet
