// Memory for work on a GPU: pools of device memory and the streams that use it, and page-locked
// memory of the host.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"

namespace ramet {

// A stream of our own. Destroying it does not wait for its work.
class CudaStream {
 public:
  explicit CudaStream(int device);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] CudaStreamHandle handle() const { return handle_; }
  [[nodiscard]] int device() const { return device_; }
  void synchronize() const;

 private:
  int device_;
  CudaStreamHandle handle_;
};

// A tensor may die while a stream still has work that reads it. So a buffer of a DevicePool knows
// the streams that use it: when its last owner lets go of it, what these were given so far is
// marked by an event each, and whoever gets the buffer next has its own stream wait for these
// events. No thread waits, and nothing is asked of the caller but to say which stream a batch is
// used on.
//
// Forks: memory of a device does not survive a fork; in the child nothing is freed.
// Failure: kNoSpace where the device has no memory left, after idle buffers were given up; kDevice.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  [[nodiscard]] static std::shared_ptr<DevicePool> create(int device);
  // The one that everyone in the process may use.
  [[nodiscard]] static std::shared_ptr<DevicePool> shared(int device);
  virtual ~DevicePool() = default;

  // This pool for work on `stream`: what it hands out, `stream` may use at once, and is said to.
  [[nodiscard]] virtual std::shared_ptr<BufferPool> on(CudaStreamHandle stream) = 0;

  [[nodiscard]] virtual int device() const = 0;
  [[nodiscard]] virtual int64_t bytes_in_use() const = 0;
  [[nodiscard]] virtual int64_t bytes_idle() const = 0;

  // From now on these streams, and no others, use the buffer of `array`; none: what was given to
  // any is done. Arrays whose memory is of no DevicePool are left alone.
  static void set_users(const Array& array, std::vector<CudaStreamHandle> streams);
  static void add_user(const Array& array, CudaStreamHandle stream);
};

// Page-locked memory of the host, which copies to a device by itself, without a processor's help.
// A buffer must not be let go of while a stream still reads it.
[[nodiscard]] std::shared_ptr<BufferPool> create_pinned_pool();

// HostRegistration: page-locks the memory of a host Array, so that kernels of every device of this
// process read it in place, over PCIe. With many processes each registers the same physical pages.
//
// A value: copies share what is locked, and the last of them releases it. While it is locked the
// Array's owner lives; memory without an owner must outlive every HostRegistration that covers a
// page of it. Kernels must be done with the memory when the last copy dies.
//
// CUDA locks whole pages, and none twice. So a process has one record of what is locked: what is
// asked for a second time, or lies in pages that others have locked in part, shares these and locks
// the rest. Memory that somebody else has page-locked (torch's pin_memory()) is used as it is.
// A read-only Array is locked for reading: such are the mappings of a store, which no kernel may
// write. That brings all of it into memory, once for all processes.
//
// Forks: the record of a child is empty, and what it inherits releases nothing there.
// Failure: kDevice where CUDA refuses, naming the array, the reason and the limit on locked memory
// where that may be it; kInvalidArgument for memory of a device, and for writing to pages that are
// locked for reading.
class HostRegistration {
 public:
  HostRegistration() = default;  // of nothing
  // For writing by kernels, too, where `array` is writable.
  explicit HostRegistration(const Array& array);

  [[nodiscard]] const Array& array() const { return array_; }
  // Where kernels of `device` find array().data; nullptr for an Array of no bytes.
  [[nodiscard]] void* address(int device) const;

  // Bytes that this process has locked by registration now, in whole pages.
  [[nodiscard]] static int64_t registered_bytes();

 private:
  class Hold;
  Array array_;
  std::shared_ptr<const Hold> hold_;
};

}  // namespace ramet
