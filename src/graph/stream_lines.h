// Cache lines stored past the caches: what is written once and read much later would only evict
// what is in use, and an ordinary store reads the line first. One source file per instruction set;
// CMake chooses.
#pragma once

#include <cstddef>

namespace ramet {

inline constexpr size_t kLineBytes = 64;

// Copies whole lines; `to` and `from` begin on a line.
void stream_lines(void* to, const void* from, size_t lines);

// Orders the streamed stores of this thread before its later stores: call it before other threads
// are told of the lines.
void stream_fence();

}  // namespace ramet
