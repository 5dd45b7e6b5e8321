// The error of the calling thread, and whether it may use CUDA at all.
#pragma once

#include "emulator/runtime_api.h"

namespace emulator {

// Keeps `error` for cudaGetLastError and returns it.
cudaError_t note(cudaError_t error);

// What every call starts with: no device, or a fork after the first use.
cudaError_t check_usable();

bool in_forked_child();

int current_device();

// Whether the device was made the current one: CUDA makes a context on it then.
bool has_context(int device);

}  // namespace emulator
