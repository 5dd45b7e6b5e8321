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
#include "ramet/progress.h"

namespace ramet {

// A stream that this object owns. Destroying it waits for its work.
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

// A tensor may be freed while a stream still reads it. A buffer of a DevicePool therefore knows the
// streams that use it. When its last owner releases it, an event per stream records the work so
// far. The stream of the next user waits for these events; no thread waits. Callers only declare
// which stream uses a batch. A stream that is captured into a graph cannot record: the buffer stays
// unused until a later call finds that the capture has ended. The graph keeps the buffer's address,
// but does not keep the buffer.
//
// Only the thread that names a caller's stream records on it, as long as that thread lives, and
// only it may capture the stream: the driver crashes where an event comes while another thread
// begins or ends a capture. A buffer that is released elsewhere stays unused until the next call
// of that thread, also where memory is short.
//
// Forks: memory of a device does not survive a fork; in the child nothing is freed.
// Failure: kNoSpace where the device has no memory left, after idle buffers were given up; kDevice.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  [[nodiscard]] static std::shared_ptr<DevicePool> create(int device);
  // The pool shared by the whole process.
  [[nodiscard]] static std::shared_ptr<DevicePool> shared(int device);
  virtual ~DevicePool() = default;

  // A view of the pool for `stream`: its buffers are ready for, and recorded on, that stream.
  [[nodiscard]] virtual std::shared_ptr<BufferPool> on(CudaStreamHandle stream) = 0;

  [[nodiscard]] virtual int device() const = 0;
  [[nodiscard]] virtual int64_t bytes_in_use() const = 0;
  [[nodiscard]] virtual int64_t bytes_idle() const = 0;

  // Declares that these streams, and no others, use the buffer of `array` from now on. No streams
  // means that all work on it has finished. Arrays from outside a DevicePool are ignored.
  static void set_users(const Array& array, const std::vector<CudaStreamHandle>& streams);
  static void add_user(const Array& array, CudaStreamHandle stream);
};

// A pool of page-locked host memory, which the device copies without CPU work. A buffer must not be
// released while a stream still reads it.
[[nodiscard]] std::shared_ptr<BufferPool> create_pinned_pool();

// The maximum of bytes that one call of the driver locks. Drivers from r580 on refuse 512 GiB, and
// each keeps other threads from mmap() and munmap() while it locks: about 0.1 s per GiB.
inline constexpr int64_t kRegistrationPieceBytes = int64_t{8} << 30;

struct RegistrationOptions {
  Progress progress = {};  // of bytes in memory and locked
  int threads = 0;         // that read pages into memory, at most; 0: hardware_threads()
  int64_t piece_bytes = kRegistrationPieceBytes;
};

// HostRegistration: page-locks the memory of a host Array, so that kernels of every device of this
// process can read it in place, over PCIe. Several processes register the same physical pages.
//
// A value: copies share the lock, and the last copy releases it. The Array's owner lives as long as
// the lock. Memory without an owner must outlive every HostRegistration that covers a page of it.
// Kernels must have finished with the memory when the last copy dies.
//
// CUDA locks whole pages, and no page twice. A process therefore has one record of locked pages. A
// registration shares the pages that are locked already and locks the rest, piece by piece, after
// several threads have read a piece into memory, once for all processes. Memory page-locked by
// others (torch's pin_memory()) is used as it is. A read-only Array, such as the mapping of a
// store, is locked for reading, and no kernel may write it. If the driver cannot lock for reading
// only, pages of tmpfs or a memfd are made writable during the call.
//
// Threads: any; those that register or release other pages do not wait for each other. Forks: a
// child's record is empty, and inherited registrations release nothing there. Failure: nothing
// stays locked. kDevice where CUDA refuses, naming the array, CUDA's reason and the usual cause for
// such memory (its mapping, file system or size); kIo where its file cannot be read;
// kInvalidArgument for memory of a device, and for writing to pages that are locked for reading.
class HostRegistration {
 public:
  HostRegistration() = default;  // of nothing
  // Registers for reading, and also for writing if `array` is writable.
  explicit HostRegistration(const Array& array, const RegistrationOptions& options = {});

  [[nodiscard]] const Array& array() const { return array_; }
  // The address of array().data for kernels of `device`; nullptr for an Array of no bytes.
  [[nodiscard]] void* address(int device) const;

  // Bytes that this process has registered now, in whole pages.
  [[nodiscard]] static int64_t registered_bytes();

 private:
  class Hold;
  Array array_;
  std::shared_ptr<const Hold> hold_;
};

}  // namespace ramet
