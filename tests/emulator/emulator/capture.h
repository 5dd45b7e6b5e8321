// Streams that are captured into a graph. What such a stream is given is not run, and no graph is
// made of it; what CUDA forbids meanwhile is refused, and breaks the capture.
#pragma once

#include <cstdint>

#include "emulator/runtime_api.h"

namespace emulator {

// Captures are numbered, since a stream may be captured again while an event of an earlier capture
// lives on.
constexpr uint64_t kNoCapture = 0;

// The capture that the stream is in now.
[[nodiscard]] uint64_t capture_of(cudaStream_t stream);

// Of a call that waits for a stream: an error where that is captured.
[[nodiscard]] cudaError_t check_not_captured(cudaStream_t stream);

// Of a call that might be unsafe for a graph, as allocating is: an error where another thread
// captures one, or this one does, unless this thread is relaxed.
[[nodiscard]] cudaError_t check_safe_for_captures();

// Of a call that waits for all streams: an error while any is captured.
[[nodiscard]] cudaError_t check_no_capture();

// The capture will end with an error, unless it has ended.
void break_capture(uint64_t capture);

}  // namespace emulator
