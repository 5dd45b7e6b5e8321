// The emulator's streams and events.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cub/device/device_scan.cuh"
#include "cuda_runtime.h"

namespace {

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
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
  const auto slow = new_stream();
  const auto fast = new_stream();
  const auto done = new_event();
  int value = 0;
  int early = -1;
  int late = -1;
  std::atomic<bool> may_set = false;
  CHECK(cudaEventQuery(done) == cudaSuccess);  // never recorded
  CHECK(cudaStreamWaitEvent(fast, done) == cudaSuccess);
  REQUIRE(launch(slow, dim3(1), wait_and_set, &may_set, &value, 5) == cudaSuccess);
  REQUIRE(cudaEventRecord(done, slow) == cudaSuccess);
  CHECK(cudaEventQuery(done) == cudaErrorNotReady);
  REQUIRE(launch(fast, dim3(1), copy_value, &early, &early) ==
          cudaSuccess);  // has nothing to wait for
  REQUIRE(cudaStreamSynchronize(fast) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(fast, done) == cudaSuccess);
  REQUIRE(launch(fast, dim3(1), copy_value, &value, &late) == cudaSuccess);
  REQUIRE(cudaEventDestroy(done) == cudaSuccess);  // the streams keep what they need
  REQUIRE(cudaStreamDestroy(slow) == cudaSuccess);
  may_set = true;
  may_set.notify_all();
  REQUIRE(cudaStreamSynchronize(fast) == cudaSuccess);
  CHECK(late == 5);
  REQUIRE(cudaStreamDestroy(fast) == cudaSuccess);
  CHECK(cudaStreamSynchronize(fast) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a wait is for the record before it, also where the event is recorded again elsewhere") {
  const auto slow = new_stream();
  const auto idle = new_stream();
  const auto waiting = new_stream();
  const auto event = new_event();
  int value = 0;
  int seen = -1;
  REQUIRE(launch(slow, dim3(1), sleep_and_set, &value, 5) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, slow) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(waiting, event) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, idle) == cudaSuccess);
  REQUIRE(launch(waiting, dim3(1), copy_value, &value, &seen) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(waiting) == cudaSuccess);
  CHECK(seen == 5);
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
  for (const auto stream : {slow, idle, waiting})
    REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

// Begins a capture, and tells whether it ends well.
struct Captured {
  explicit Captured(cudaStream_t its_stream) : stream(its_stream) {
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
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
  const auto stream = new_stream();
  const auto other = new_stream();
  const auto event = new_event();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  int value = 1;
  {
    const Captured captured(stream);
    REQUIRE(launch(stream, dim3(1), sleep_and_set, &value, 5) == cudaSuccess);
    REQUIRE(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamSynchronize(other) == cudaSuccess);
    CHECK(captured.end() == cudaSuccess);
  }
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(value == 1);
  void* memory = nullptr;
  const auto breaks = [&](auto call, cudaError_t expected) {
    const Captured captured(stream);
    CHECK(call() == expected);
    REQUIRE(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    CHECK(captured.end() == cudaErrorStreamCaptureInvalidated);
  };
  breaks([&] { return cudaStreamSynchronize(stream); }, cudaErrorStreamCaptureUnsupported);
  breaks([] { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported);
  breaks([&] { return cudaMalloc(&memory, 16); }, cudaErrorStreamCaptureUnsupported);
  breaks(
      [&] {
        REQUIRE(cudaEventRecord(event, stream) == cudaSuccess);
        return cudaStreamWaitEvent(other, event);
      },
      cudaErrorStreamCaptureIsolation);
  {
    const Captured later(stream);  // than the one that the event is of
    CHECK(cudaEventQuery(event) == cudaErrorCapturedEvent);
    CHECK(later.end() == cudaSuccess);
  }
  CHECK(cudaEventSynchronize(event) == cudaErrorCapturedEvent);
  cudaGetLastError();
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
  for (const auto each : {stream, other})
    REQUIRE(cudaStreamDestroy(each) == cudaSuccess);
}

TEST_CASE("a relaxed thread allocates while others capture") {
  const auto stream = new_stream();
  void* memory = nullptr;
  for (const bool is_relaxed : {true, false}) {
    const Captured captured(stream);
    std::thread([&] {
      auto mode = is_relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
      REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
      CHECK(mode == cudaStreamCaptureModeGlobal);
      CHECK((cudaMalloc(&memory, 16) == cudaSuccess) == is_relaxed);
    }).join();
    CHECK((captured.end() == cudaSuccess) == is_relaxed);
    cudaFree(memory);
    memory = nullptr;
  }
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
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
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(launch(stream, dim3(1), copy_value, &value, &value) == cudaErrorInvalidResourceHandle);
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK(launch(stream, dim3(1), copy_value, &value, &value) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  unsetenv("RAMET_EMULATOR_DEVICES");
  cudaGetLastError();
}

TEST_CASE("prefix sums") {
  const auto stream = new_stream();
  std::vector<long> values{3, 1, 4, 1, 5};
  std::vector<long> sums(5);
  size_t bytes = 0;
  REQUIRE(cub::DeviceScan::InclusiveSum(nullptr, bytes, values.data(), sums.data(), 5, stream) ==
          cudaSuccess);
  std::vector<char> temporary(bytes);
  REQUIRE(cub::DeviceScan::InclusiveSum(temporary.data(), bytes, values.data(), sums.data(), 5,
                                        stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(sums == std::vector<long>{3, 4, 8, 9, 14});
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}
