#include "emulator/stream.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "emulator/block.h"
#include "emulator/capture.h"
#include "emulator/counts.h"
#include "emulator/errors.h"
#include "emulator/launch.h"
#include "emulator/random.h"
#include "emulator/settings.h"
#include "kernels/cuda/last_launch.h"

namespace {

// In random order a stream is late now and then, so that what does not wait for it shows.
void be_late(emulator::Random& random) {
  constexpr uint64_t kOneIn = 4;
  constexpr uint64_t kMostMicroseconds = 400;
  if (emulator::schedule().order != emulator::Order::kRandom || random.below(kOneIn) != 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(kMostMicroseconds)));
}

}  // namespace

CUstream_st::CUstream_st(int device_of_stream)
    : device(device_of_stream), thread_(&CUstream_st::run, this) {}

CUstream_st::~CUstream_st() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void CUstream_st::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  const bool is_idle = finished_ == enqueued_;
  lock.unlock();
  if (is_idle && thread_.joinable()) thread_.join();  // at once: nobody waits for work
}

void CUstream_st::run() {
  emulator::Random random(emulator::schedule().seed);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    be_late(random);
    work();
    work = nullptr;
    lock.lock();
    ++finished_;
    changed_.notify_all();
  }
}

void CUstream_st::enqueue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  ++enqueued_;
  changed_.notify_all();
}

void CUstream_st::synchronize() {
  std::unique_lock lock(mutex_);
  const uint64_t target = enqueued_;
  changed_.wait(lock, [this, target] { return finished_ >= target; });
}

namespace emulator {
namespace {

// All streams of the process. A destroyed one finishes its work, as in CUDA without its owner
// waiting, then its thread ends, which is joined when the device is next synchronized.
class Streams {
 public:
  ~Streams() {
    if (!in_forked_child()) return;
    // The threads are the parent's: let go of them without a word.
    for (auto* streams : {&live_, &destroyed_})
      for (auto& stream : *streams)
        static_cast<void>(stream.release());
    for (auto& [device, stream] : null_streams_)
      static_cast<void>(stream.release());
  }

  cudaStream_t create(int device) {
    const std::lock_guard lock(mutex_);
    live_.push_back(std::make_unique<CUstream_st>(device));
    return live_.back().get();
  }

  bool destroy(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    for (auto it = live_.begin(); it != live_.end(); ++it) {
      if (it->get() != stream) continue;
      stream->stop();
      destroyed_.splice(destroyed_.end(), live_, it);
      return true;
    }
    return false;
  }

  CUstream_st* find(cudaStream_t handle, int device) {
    const std::lock_guard lock(mutex_);
    if (handle == nullptr) {
      auto& stream = null_streams_[device];
      if (!stream) stream = std::make_unique<CUstream_st>(device);
      return stream.get();
    }
    for (auto& stream : live_)
      if (stream.get() == handle) return handle;
    return nullptr;
  }

  bool is_destroyed(cudaStream_t handle) {
    const std::lock_guard lock(mutex_);
    return std::any_of(destroyed_.begin(), destroyed_.end(),
                       [&](const auto& stream) { return stream.get() == handle; });
  }

  void synchronize(int device) {
    std::list<std::unique_ptr<CUstream_st>> finished;
    const std::lock_guard lock(mutex_);
    for (auto& stream : live_)
      if (stream->device == device) stream->synchronize();
    for (auto& stream : destroyed_)
      stream->synchronize();
    if (const auto null_stream = null_streams_.find(device); null_stream != null_streams_.end())
      null_stream->second->synchronize();
    finished.swap(destroyed_);
  }

 private:
  std::mutex mutex_;
  std::list<std::unique_ptr<CUstream_st>> live_;
  std::list<std::unique_ptr<CUstream_st>> destroyed_;
  std::map<int, std::unique_ptr<CUstream_st>> null_streams_;
};

Streams& streams() {
  static Streams instance;
  return instance;
}

bool is_launchable(const cudaLaunchConfig_t& config) {
  const auto volume = [](dim3 d) { return uint64_t{d.x} * d.y * d.z; };
  constexpr unsigned kMost = 65535;
  return volume(config.blockDim) >= 1 && volume(config.blockDim) <= 1024 &&
         volume(config.gridDim) >= 1 && config.gridDim.x <= 0x7fffffff &&
         config.gridDim.y <= kMost && config.gridDim.z <= kMost && config.dynamicSmemBytes == 0;
}

}  // namespace

CUstream_st* find_stream(cudaStream_t handle) {
  return streams().find(handle, current_device());
}

bool is_destroyed(cudaStream_t handle) {
  return streams().is_destroyed(handle);
}

cudaError_t enqueue(cudaStream_t handle, std::function<void()> work) {
  if (const auto error = check_usable()) return error;
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (capture_of(stream) == kNoCapture) stream->enqueue(std::move(work));
  return cudaSuccess;
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  if (const auto error = check_usable()) return error;
  if (!is_launchable(config)) return note(cudaErrorInvalidConfiguration);
  CUstream_st* stream = find_stream(config.stream);
  if (stream == nullptr || stream->device != current_device())
    return note(cudaErrorInvalidResourceHandle);
  ++counts().kernels;
  const Grid grid{config.gridDim, config.blockDim, std::move(thread),
                  ramet::last_launch_of_thread()};
  if (capture_of(stream) == kNoCapture) stream->enqueue([grid] { run_grid(grid); });
  return cudaSuccess;
}

}  // namespace emulator

using emulator::note;
using emulator::streams;

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  if (const auto error = emulator::check_usable()) return error;
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}

// Kernels of all priorities run as they come.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream,
                                         unsigned /*flags*/,
                                         int /*priority*/) {
  if (const auto error = emulator::check_usable()) return error;
  *stream = streams().create(emulator::current_device());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const auto error = emulator::check_usable()) return error;
  return streams().destroy(stream) ? cudaSuccess : note(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (const auto error = emulator::check_usable()) return error;
  CUstream_st* stream = emulator::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (const auto error = emulator::check_not_captured(stream)) return error;
  ++emulator::counts().waits;
  stream->synchronize();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const auto error = emulator::check_usable()) return error;
  if (const auto error = emulator::check_no_capture()) return error;
  streams().synchronize(emulator::current_device());
  return cudaSuccess;
}
