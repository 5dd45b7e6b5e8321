// The emulator's streams and events.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cuda_runtime.h"

namespace {

void succeeds(cudaError_t error) {
  REQUIRE(error == cudaSuccess);
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  succeeds(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0));
  return stream;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  succeeds(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

__global__ void sleep_and_set(int* value, int to) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  *value = to;
}

__global__ void wait_and_set(const std::atomic<bool>* may_set, int* value, int to) {
  may_set->wait(false);
  *value = to;
}

__global__ void copy_value(const int* from, int* to) {
  *to = *from;
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t stream,
                   dim3 block,
                   void (*kernel)(Parameters...),
                   Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

TEST_CASE("streams run beside each other, and in order where one waits") {
  const auto slow = new_stream(), fast = new_stream();
  const auto done = new_event();
  int value = 0, early = -1, late = -1;
  std::atomic<bool> may_set = false;
  CHECK(cudaEventQuery(done) == cudaSuccess);  // never recorded
  CHECK(cudaStreamWaitEvent(fast, done) == cudaSuccess);
  succeeds(launch(slow, dim3(1), wait_and_set, &may_set, &value, 5));
  succeeds(cudaEventRecord(done, slow));
  CHECK(cudaEventQuery(done) == cudaErrorNotReady);
  succeeds(launch(fast, dim3(1), copy_value, &early, &early));  // has nothing to wait for
  succeeds(cudaStreamSynchronize(fast));
  succeeds(cudaStreamWaitEvent(fast, done));
  succeeds(launch(fast, dim3(1), copy_value, &value, &late));
  succeeds(cudaEventDestroy(done));  // the streams keep what they need
  succeeds(cudaStreamDestroy(slow));
  may_set = true;
  may_set.notify_all();
  succeeds(cudaStreamSynchronize(fast));
  CHECK(late == 5);
  succeeds(cudaStreamDestroy(fast));
  CHECK(cudaStreamSynchronize(fast) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaSuccess);
  succeeds(cudaDeviceSynchronize());
}

TEST_CASE("a wait is for the record before it, also where the event is recorded again elsewhere") {
  const auto slow = new_stream(), idle = new_stream(), waiting = new_stream();
  const auto event = new_event();
  int value = 0, seen = -1;
  succeeds(launch(slow, dim3(1), sleep_and_set, &value, 5));
  succeeds(cudaEventRecord(event, slow));
  succeeds(cudaStreamWaitEvent(waiting, event));
  succeeds(cudaEventRecord(event, idle));
  succeeds(launch(waiting, dim3(1), copy_value, &value, &seen));
  succeeds(cudaEventSynchronize(event));
  succeeds(cudaStreamSynchronize(waiting));
  CHECK(seen == 5);
  succeeds(cudaEventDestroy(event));
  for (const auto stream : {slow, idle, waiting})
    succeeds(cudaStreamDestroy(stream));
}

// Begins a capture, and tells whether it ends well.
struct Captured {
  explicit Captured(cudaStream_t its_stream) : stream(its_stream) {
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  }
  cudaError_t end() const {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    cudaGraphDestroy(graph);
    return error;
  }
  cudaStream_t stream;
};

TEST_CASE("a captured stream runs nothing, and what CUDA forbids breaks the capture") {
  const auto stream = new_stream(), other = new_stream();
  const auto event = new_event();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  int value = 1;
  {
    const Captured captured(stream);
    succeeds(launch(stream, dim3(1), sleep_and_set, &value, 5));
    succeeds(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamSynchronize(other) == cudaSuccess);
    CHECK(captured.end() == cudaSuccess);
  }
  succeeds(cudaStreamSynchronize(stream));
  CHECK(value == 1);
  void* memory = nullptr;
  const auto breaks = [&](auto call, cudaError_t expected) {
    const Captured captured(stream);
    CHECK(call() == expected);
    succeeds(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    CHECK(captured.end() == cudaErrorStreamCaptureInvalidated);
  };
  breaks([&] { return cudaStreamSynchronize(stream); }, cudaErrorStreamCaptureUnsupported);
  breaks([] { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported);
  breaks([&] { return cudaMalloc(&memory, 16); }, cudaErrorStreamCaptureUnsupported);
  const auto wait_elsewhere = [&] {
    succeeds(cudaEventRecord(event, stream));
    return cudaStreamWaitEvent(other, event);
  };
  breaks(wait_elsewhere, cudaErrorStreamCaptureIsolation);
  {
    const Captured later(stream);  // than the one that the event is of
    CHECK(cudaEventQuery(event) == cudaErrorCapturedEvent);
    CHECK(later.end() == cudaSuccess);
  }
  CHECK(cudaEventSynchronize(event) == cudaErrorCapturedEvent);
  cudaGetLastError();
  succeeds(cudaEventDestroy(event));
  for (const auto each : {stream, other})
    succeeds(cudaStreamDestroy(each));
}

TEST_CASE("a relaxed thread allocates while others capture") {
  const auto stream = new_stream();
  void* memory = nullptr;
  for (const bool is_relaxed : {true, false}) {
    const Captured captured(stream);
    std::thread([&] {
      auto mode = is_relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
      succeeds(cudaThreadExchangeStreamCaptureMode(&mode));
      CHECK(mode == cudaStreamCaptureModeGlobal);
      CHECK((cudaMalloc(&memory, 16) == cudaSuccess) == is_relaxed);
    }).join();
    CHECK((captured.end() == cudaSuccess) == is_relaxed);
    cudaFree(memory);
    memory = nullptr;
  }
  succeeds(cudaStreamDestroy(stream));
}

TEST_CASE("launches that CUDA refuses are refused") {
  int value = 0;
  CHECK(launch(nullptr, dim3(1025), copy_value, &value, &value) == cudaErrorInvalidConfiguration);
  CHECK(launch(nullptr, dim3(0), copy_value, &value, &value) == cudaErrorInvalidConfiguration);
  CHECK(launch(nullptr, dim3(32, 33), copy_value, &value, &value) == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
}

TEST_CASE("a stream belongs to the device that was current") {
  setenv("RAMET_EMULATOR_DEVICES", "2", 1);
  const auto stream = new_stream();
  int value = 1;
  succeeds(cudaSetDevice(1));
  CHECK(launch(stream, dim3(1), copy_value, &value, &value) == cudaErrorInvalidResourceHandle);
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
  succeeds(cudaSetDevice(0));
  CHECK(launch(stream, dim3(1), copy_value, &value, &value) == cudaSuccess);
  succeeds(cudaStreamDestroy(stream));
  succeeds(cudaDeviceSynchronize());
  unsetenv("RAMET_EMULATOR_DEVICES");
  cudaGetLastError();
}
