#include "kernels/cuda/check.h"

#include <unistd.h>

#include "kernels/cuda/last_launch.h"
#include "ramet/error.h"

namespace ramet {

void check_cuda(cudaError_t error, const char* call, const std::string& details) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // it has been seen
  const auto code = error == cudaErrorMemoryAllocation ? ErrorCode::kNoSpace : ErrorCode::kDevice;
  std::string message = std::string("CUDA refused ") + call;
  if (!details.empty()) message += " (" + details + ")";
  message +=
      std::string(": ") + cudaGetErrorString(error) + "; last kernel launched: " + last_launch();
  throw Error(code, message);
}

}  // namespace ramet
