// Events of a device that are kept and used again: to create one takes as long as to record a few.
//
// Thread-safe. In a forked child nothing is freed.
#pragma once

#include <mutex>
#include <new>
#include <vector>

#include "kernels/cuda_backend.h"

namespace ramet {

class EventCache {
 public:
  explicit EventCache(int device) : device_(device) {}
  ~EventCache() {
    for (const CudaEventHandle event : idle_)
      destroy(event);
  }
  EventCache(const EventCache&) = delete;
  EventCache& operator=(const EventCache&) = delete;

  [[nodiscard]] CudaEventHandle take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const CudaEventHandle event = idle_.back();
        idle_.pop_back();
        return event;
      }
    }
    return require_cuda().runtime.create_event(device_);
  }

  // Streams may still wait for what was recorded: to record it anew does not change that.
  void give_back(CudaEventHandle event) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      idle_.push_back(event);
    } catch (const std::bad_alloc&) {
      destroy(event);
    }
  }

 private:
  void destroy(CudaEventHandle event) noexcept {
    cuda_backend()->runtime.destroy_event(device_, event);
  }

  const int device_;
  std::mutex mutex_;
  std::vector<CudaEventHandle> idle_;
};

}  // namespace ramet
