// Memory: of the devices, pinned, and registered. Device memory is not zero when it is new, and an
// access past its end is an error of malloc's, which the address sanitizer sees. Freeing waits for
// nothing: that CUDA often does is not to be relied on.
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "emulator/capture.h"
#include "emulator/errors.h"
#include "emulator/launch.h"
#include "emulator/memory.h"
#include "emulator/runtime_api.h"
#include "emulator/settings.h"

namespace emulator {
namespace {

constexpr int kPoison = 0xab;
constexpr size_t kAlignment = 256;
constexpr uintptr_t kPageBytes = 4096;

void* allocate(size_t bytes, size_t alignment = kAlignment) {
  void* result = nullptr;
  if (posix_memalign(&result, alignment, bytes) != 0) return nullptr;
  std::memset(result, kPoison, bytes);
  return result;
}

// As a driver locks pages that it may write: copies are made of private ones, and read-only ones
// are refused. Kernels before 5.14 do not tell, and nothing is refused.
bool may_write(void* pointer, size_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
  static const bool kernel_tells = [] {
    alignas(kPageBytes) static char page[kPageBytes];
    return madvise(page, kPageBytes, kPopulateWrite) == 0;
  }();
  const uintptr_t begin = address_of(pointer) / kPageBytes * kPageBytes;
  return !kernel_tells || madvise(reinterpret_cast<void*>(begin),
                                  address_of(pointer) + bytes - begin, kPopulateWrite) == 0;
}

// Pages are what is locked: ranges that share one overlap.
bool shares_pages(const Ranges& ranges, uintptr_t begin, size_t bytes) {
  const uintptr_t first = begin / kPageBytes * kPageBytes;
  const uintptr_t end = (begin + bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  return ranges.overlaps(first, end - first);
}

// Ordinary memory alone, or all of it in one piece of another kind: CUDA copies nothing else.
bool is_one_piece(const void* data, size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  const uintptr_t begin = address_of(data);
  for (const Ranges* ranges : {&memory().device, &memory().pinned, &memory().registered}) {
    if (!ranges->overlaps(begin, bytes)) continue;
    const Range* range = ranges->find(begin);
    return range != nullptr && range == ranges->find(begin + bytes - 1);
  }
  return !memory().mapped.overlaps(begin, bytes) || memory().mapped.covers(begin, bytes);
}

cudaError_t free_from(Ranges& ranges, void* pointer) {
  if (const auto error = check_usable()) return error;
  if (const auto error = check_safe_for_captures()) return error;
  if (pointer == nullptr) return cudaSuccess;
  const std::lock_guard lock(memory().mutex);
  if (!ranges.erase(address_of(pointer))) return note(cudaErrorInvalidValue);
  std::free(pointer);
  return cudaSuccess;
}

}  // namespace

Memory& memory() {
  static Memory instance;
  return instance;
}

}  // namespace emulator

using emulator::address_of;
using emulator::memory;
using emulator::note;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (const auto error = emulator::check_usable()) return error;
  const std::lock_guard lock(memory().mutex);
  const int device = emulator::current_device();
  const uint64_t used = memory().device.bytes_of(device) + memory().pieces.bytes_of(device);
  *total = emulator::device_memory();
  *free = used < *total ? *total - used : 0;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  size_t free = 0;
  size_t total = 0;
  *pointer = nullptr;
  if (const auto error = cudaMemGetInfo(&free, &total)) return error;
  if (const auto error = emulator::check_safe_for_captures()) return error;
  if (bytes > free) return note(cudaErrorMemoryAllocation);
  if (bytes == 0) return cudaSuccess;
  *pointer = emulator::allocate(bytes);
  if (*pointer == nullptr) return note(cudaErrorMemoryAllocation);
  const std::lock_guard lock(memory().mutex);
  memory().device.insert(address_of(*pointer), {bytes, emulator::current_device()});
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  return emulator::free_from(memory().device, pointer);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned /*flags*/) {
  if (const auto error = emulator::check_usable()) return error;
  if (const auto error = emulator::check_safe_for_captures()) return error;
  // Whole pages, which nothing else shares that might be registered.
  const size_t pages = (bytes + emulator::kPageBytes - 1) / emulator::kPageBytes;
  *pointer =
      bytes == 0 ? nullptr : emulator::allocate(pages * emulator::kPageBytes, emulator::kPageBytes);
  if (bytes == 0) return cudaSuccess;
  if (*pointer == nullptr) return note(cudaErrorMemoryAllocation);
  const std::lock_guard lock(memory().mutex);
  memory().pinned.insert(address_of(*pointer), {bytes, emulator::current_device()});
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  return emulator::free_from(memory().pinned, pointer);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  if (const auto error = emulator::check_usable()) return error;
  if (const auto error = emulator::check_safe_for_captures()) return error;
  if (const auto error = emulator::error_of_registration()) return note(error);
  if (pointer == nullptr || bytes == 0) return note(cudaErrorInvalidValue);
  const bool reads = (flags & cudaHostRegisterReadOnly) != 0;
  if (reads && !emulator::registers_read_only()) return note(cudaErrorNotSupported);
  if (!reads && !emulator::may_write(pointer, bytes)) return note(cudaErrorInvalidValue);
  const std::lock_guard lock(memory().mutex);
  const uintptr_t begin = address_of(pointer);
  if (emulator::shares_pages(memory().registered, begin, bytes) ||
      memory().pinned.overlaps(begin, bytes))
    return note(cudaErrorHostMemoryAlreadyRegistered);
  if (bytes > emulator::registered_at_once() ||
      memory().registered.bytes() + bytes > emulator::registered_in_all())
    return note(cudaErrorMemoryAllocation);
  memory().registered.insert(begin, {bytes, emulator::current_device()});
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (const auto error = emulator::check_usable()) return error;
  std::this_thread::sleep_for(std::chrono::milliseconds(emulator::unregister_milliseconds()));
  const std::lock_guard lock(memory().mutex);
  return memory().registered.erase(address_of(pointer)) ? cudaSuccess
                                                        : note(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  if (const auto error = emulator::check_usable()) return error;
  const std::lock_guard lock(memory().mutex);
  const uintptr_t address = address_of(host);
  if (!memory().registered.find(address) && !memory().pinned.find(address))
    return note(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (const auto error = emulator::check_usable()) return error;
  const std::lock_guard lock(memory().mutex);
  const uintptr_t address = address_of(pointer);
  void* same = const_cast<void*>(pointer);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, same};
  for (const auto* device : {&memory().device, &memory().mapped})
    if (const auto* range = device->find(address))
      *attributes = {cudaMemoryTypeDevice, range->device, same, nullptr};
  for (const auto* host : {&memory().pinned, &memory().registered})
    if (const auto* range = host->find(address))
      *attributes = {cudaMemoryTypeHost, range->device, same, same};
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  if (bytes > 0 && !(emulator::is_one_piece(to, bytes) && emulator::is_one_piece(from, bytes)))
    return note(cudaErrorInvalidValue);
  return emulator::enqueue(stream, [=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const auto error = cudaMemcpyAsync(to, from, bytes, kind, nullptr)) return error;
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return emulator::enqueue(stream, [=] {
    if (bytes > 0) std::memset(to, value, bytes);
  });
}

cudaError_t cudaMemset2DAsync(
    void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  if (width > pitch) return note(cudaErrorInvalidValue);
  return emulator::enqueue(stream, [=] {
    for (size_t row = 0; row < height; ++row)
      std::memset(static_cast<char*>(to) + row * pitch, value, width);
  });
}
