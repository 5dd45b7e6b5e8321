// Turns CUDA's errors into ramet::Error.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace ramet {

// Throws where `error` is one: kNoSpace where memory is short, else kDevice. The message names
// `call`, the current device, `details` ("1024 bytes") and what CUDA says.
void check_cuda(cudaError_t error, const char* call, const std::string& details = {});

}  // namespace ramet
