// Makes a device the calling thread's current one for a scope, in which calls break no capture.
#pragma once

#include "kernels/cuda/check.h"

namespace ramet {

// While a thread captures a stream into a graph, CUDA forbids other threads what might be unsafe
// for that graph, allocating for one, and breaks the capture where they do it. What the engine does
// has nothing to do with the graph: in this scope the thread is allowed to.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Afterwards the device before is current again, unless nobody has used that one in this process:
// going back would make CUDA take some hundred MB of its memory, in every process of a machine.
class DeviceScope {
 public:
  // Throws kDevice where there is no such device, and in a forked child whose parent used CUDA.
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
  int device_;
  RelaxedCapture relaxed_;
};

// True in a child of the process that used CUDA first: what is freed there is the parent's.
bool is_forked_child();

// Throws kDevice there.
void check_not_forked();

// For what belongs to no device: the one that the process used last, or the thread's current one.
int any_device();

// For what frees, which also runs in destructors when the process ends and CUDA is gone already:
// ignores errors, and in a forked child does nothing. Any device would do, but where the thread has
// one that is not in use the call would make a context there.
template <typename Release>
void release_on(int device, Release release) {
  if (is_forked_child()) return;
  try {
    const DeviceScope scope(device);
    if (release() != cudaSuccess) clear_cuda_error();
  } catch (const Error&) {
  }
}

}  // namespace ramet
