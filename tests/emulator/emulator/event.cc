// Events. A wait is for the work before the record that was the last one when it was enqueued, as
// in CUDA; an event that was never recorded is complete.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "emulator/capture.h"
#include "emulator/errors.h"
#include "emulator/launch.h"
#include "emulator/runtime_api.h"
#include "emulator/stream.h"

namespace emulator {
namespace {

// What streams still hold when the event is destroyed.
struct EventState {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0;       // records asked for
  std::set<uint64_t> pending;  // of these, what no stream came to yet: each on a stream of its own

  uint64_t next_record() {
    const std::lock_guard lock(mutex);
    pending.insert(++recorded);
    return recorded;
  }
  uint64_t last_record() {
    const std::lock_guard lock(mutex);
    return recorded;
  }
  void complete(uint64_t record) {
    const std::lock_guard lock(mutex);
    pending.erase(record);
    changed.notify_all();
  }
  void wait(uint64_t record) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this, record] { return !pending.contains(record); });
  }
  bool is_complete() {
    const std::lock_guard lock(mutex);
    return !pending.contains(recorded);
  }
};

}  // namespace
}  // namespace emulator

struct CUevent_st {
  int device;
  uint64_t captured_in = emulator::kNoCapture;  // what its last record became part of
  std::shared_ptr<emulator::EventState> state = std::make_shared<emulator::EventState>();
};

namespace emulator {
namespace {

// Of a wait of `stream`: what is recorded in a capture is waited for inside it, what is not
// outside. In CUDA a stream that waits for a captured event becomes part of the capture.
cudaError_t check_captures_alike(const CUevent_st& event, cudaStream_t stream) {
  const uint64_t capture = capture_of(stream);
  if (capture == event.captured_in) return cudaSuccess;
  break_capture(capture);
  break_capture(event.captured_in);
  return note(cudaErrorStreamCaptureIsolation);
}

}  // namespace
}  // namespace emulator

using emulator::note;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  if (const auto error = emulator::check_usable()) return error;
  *event = new CUevent_st{emulator::current_device()};
  return cudaSuccess;
}

// To record on a destroyed stream is undefined in CUDA, so the emulator ends the process.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  if (const auto error = emulator::check_usable()) return error;
  if (emulator::is_destroyed(handle)) {
    std::fprintf(stderr, "emulator: an event is recorded on a destroyed stream\n");
    std::abort();
  }
  CUstream_st* stream = emulator::find_stream(handle);
  if (event == nullptr || stream == nullptr || stream->device != event->device)
    return note(cudaErrorInvalidResourceHandle);
  event->captured_in = emulator::capture_of(stream);
  if (event->captured_in != emulator::kNoCapture) return cudaSuccess;
  stream->enqueue(
      [state = event->state, record = event->state->next_record()] { state->complete(record); });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  if (const auto error = emulator::check_usable()) return error;
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (const auto error = emulator::check_captures_alike(*event, stream)) return error;
  return emulator::enqueue(stream, [state = event->state, record = event->state->last_record()] {
    state->wait(record);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const auto error = emulator::check_usable()) return error;
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (event->captured_in != emulator::kNoCapture) {
    emulator::break_capture(event->captured_in);
    return note(cudaErrorCapturedEvent);
  }
  return event->state->is_complete() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const auto error = emulator::check_usable()) return error;
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (event->captured_in != emulator::kNoCapture) return note(cudaErrorCapturedEvent);
  if (const auto error = emulator::check_safe_for_captures()) return error;
  event->state->wait(event->state->last_record());
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const auto error = emulator::check_usable()) return error;
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
