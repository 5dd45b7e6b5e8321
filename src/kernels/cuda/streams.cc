#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/runtime.h"

namespace ramet {

// Of the highest priority: the few blocks of a loader's kernels start before the many that training
// has waiting.
CudaStreamHandle create_stream(int device) {
  const DeviceScope scope(device);
  int lowest = 0, highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
             "asking for the priorities of streams");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest),
             "creating a stream");
  return stream;
}

void destroy_stream(int device, CudaStreamHandle stream) {
  release_on(device, [&] { return cudaStreamDestroy(static_cast<cudaStream_t>(stream)); });
}

void synchronize(int device, CudaStreamHandle stream) {
  const DeviceScope scope(device);
  check_cuda(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for a stream");
}

void synchronize_all(int device) {
  const DeviceScope scope(device);
  check_cuda(cudaDeviceSynchronize(), "waiting for a device");
}

bool is_capturing(int device, CudaStreamHandle stream) {
  const DeviceScope scope(device);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status);
  if (error == cudaErrorStreamCaptureImplicit) {  // of the default stream
    clear_cuda_error();
    return true;
  }
  check_cuda(error, "asking whether a stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

CudaEventHandle create_event(int device) {
  const DeviceScope scope(device);
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming),
             "creating an event");
  return event;
}

void destroy_event(int device, CudaEventHandle event) {
  release_on(device, [&] { return cudaEventDestroy(static_cast<cudaEvent_t>(event)); });
}

void record(int device, CudaEventHandle event, CudaStreamHandle stream) {
  const DeviceScope scope(device);
  check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)),
             "recording an event");
}

void wait(int device, CudaStreamHandle stream, CudaEventHandle event) {
  const DeviceScope scope(device);
  check_cuda(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0),
      "making a stream wait for an event");
}

void wait_on_host(int device, CudaEventHandle event) {
  const DeviceScope scope(device);
  check_cuda(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "waiting for an event");
}

}  // namespace ramet
