// Streams: a thread each, with a queue.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "emulator/runtime_api.h"

struct CUstream_st {
 public:
  explicit CUstream_st(int device);
  // Runs what is enqueued first.
  ~CUstream_st();

  void enqueue(std::function<void()> work);
  // Waits for what is enqueued now.
  void synchronize();
  // Lets the thread end after what is enqueued, and with it the stacks of its blocks' threads.
  // Waits for that only where nothing is.
  void stop();

  const int device;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  uint64_t enqueued_ = 0;
  uint64_t finished_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

namespace emulator {

// The stream behind a handle, for the current device; nullptr: there is none.
CUstream_st* find_stream(cudaStream_t handle);

// Whether there was such a stream. It is forgotten when the device is next synchronized.
bool is_destroyed(cudaStream_t handle);

}  // namespace emulator
