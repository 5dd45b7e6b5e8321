// Pools of memory for work on a GPU, and the streams that the work is given to.
//
// A tensor may die while a stream still has work that reads it. So a buffer of a DevicePool knows
// the streams that use it: when its last owner lets go of it, what these were given so far is
// marked by an event each, and whoever gets the buffer next has its own stream wait for these
// events. No thread waits, and nothing is asked of the caller but to say which stream a batch is
// used on.
//
// Threads: any. Forks: memory of a device does not survive a fork; in the child nothing is freed.
// Failure: kNoSpace where the device has no memory left, after idle buffers were given up; kDevice.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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

}  // namespace ramet
