#include "emulator/capture.h"

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "emulator/errors.h"
#include "emulator/settings.h"
#include "emulator/stream.h"

struct CUgraph_st {};

namespace emulator {
namespace {

struct Capture {
  uint64_t number;
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  bool is_broken = false;
};

struct Captures {
  std::mutex mutex;
  std::map<cudaStream_t, Capture> of;
  uint64_t last = kNoCapture;
};

Captures& captures() {
  static Captures instance;
  return instance;
}

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

bool forbids_unsafe_calls(const Capture& capture) {
  if (capture.mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id())
    return mode_of_thread != cudaStreamCaptureModeRelaxed;
  return capture.mode == cudaStreamCaptureModeGlobal &&
         mode_of_thread == cudaStreamCaptureModeGlobal;
}

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  const std::lock_guard lock(captures().mutex);
  const auto found = captures().of.find(stream);
  if (found == captures().of.end()) return cudaStreamCaptureStatusNone;
  return found->second.is_broken ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
}

template <typename Concerns>
cudaError_t check(Concerns concerns) {
  const std::lock_guard lock(captures().mutex);
  bool is_refused = false;
  for (auto& [stream, capture] : captures().of) {
    if (!concerns(stream, capture)) continue;
    capture.is_broken = is_refused = true;
  }
  return is_refused ? note(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

}  // namespace

uint64_t capture_of(cudaStream_t stream) {
  const std::lock_guard lock(captures().mutex);
  const auto found = captures().of.find(stream);
  return found == captures().of.end() ? kNoCapture : found->second.number;
}

cudaError_t check_not_captured(cudaStream_t stream) {
  return check([stream](cudaStream_t captured, const Capture&) { return captured == stream; });
}

cudaError_t check_safe_for_captures() {
  return check([](cudaStream_t, const Capture& capture) { return forbids_unsafe_calls(capture); });
}

cudaError_t check_no_capture() {
  return check([](cudaStream_t, const Capture&) { return true; });
}

void break_capture(uint64_t number) {
  const std::lock_guard lock(captures().mutex);
  for (auto& [stream, capture] : captures().of)
    if (capture.number == number) capture.is_broken = true;
}

}  // namespace emulator

using emulator::captures;
using emulator::note;

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  const cudaStreamCaptureMode before = emulator::mode_of_thread;
  emulator::mode_of_thread = *mode;
  *mode = before;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (const auto error = emulator::check_usable()) return error;
  if (stream == nullptr || emulator::find_stream(stream) == nullptr)
    return note(cudaErrorStreamCaptureUnsupported);
  const std::lock_guard lock(captures().mutex);
  captures().of[stream] = {++captures().last, mode, std::this_thread::get_id()};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (const auto error = emulator::check_usable()) return error;
  if (emulator::find_stream(stream) == nullptr) return note(cudaErrorInvalidResourceHandle);
  *status = emulator::status_of(stream);
  // Another thread may begin a capture before the answer is used.
  if (emulator::schedule().order == emulator::Order::kRandom)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (const auto error = emulator::check_usable()) return error;
  *graph = nullptr;
  const std::lock_guard lock(captures().mutex);
  const auto node = captures().of.extract(stream);
  if (node.empty()) return note(cudaErrorInvalidValue);
  if (node.mapped().is_broken) return note(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
