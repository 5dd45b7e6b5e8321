#include "cuda/capture.h"

#include <cuda_runtime.h>

#include "kernels/cuda/check.h"

namespace ramet::test {

Capture::Capture(CudaStreamHandle stream) : stream_(stream) {
  check_cuda(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeGlobal),
             "beginning a capture");
}

Capture::~Capture() {
  if (is_open_) end();
}

bool Capture::end() {
  is_open_ = false;
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(static_cast<cudaStream_t>(stream_), &graph);
  if (error != cudaSuccess) {
    clear_cuda_error();
    return false;
  }
  return cudaGraphDestroy(graph) == cudaSuccess;
}

}  // namespace ramet::test
