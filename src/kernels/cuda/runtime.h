// The runtime part of the seam; kernels/cuda_backend.h says what each does.
#pragma once

#include "kernels/cuda_backend.h"

namespace ramet {

// devices.cc
CudaVersions find_cuda_versions();
int num_cuda_devices();
CudaDevice describe_cuda_device(int device);
int64_t free_cuda_bytes(int device);

// memory.cc
void* allocate_on_device(int device, int64_t bytes);
void free_on_device(int device, void* data);
void* allocate_pinned(int64_t bytes);
void free_pinned(void* data);
void register_host(const void* data, int64_t bytes, bool writable);
bool registers_read_only();
void unregister_host(const void* data);
void* device_address(int device, const void* registered);
bool is_page_locked(const void* data);
void copy(int device, void* to, const void* from, int64_t bytes, CudaStreamHandle stream);
void fill(int device, void* data, uint8_t byte, int64_t bytes, CudaStreamHandle stream);
void clear_columns(int device,
                   void* data,
                   int64_t row_bytes,
                   int64_t bytes,
                   int64_t count,
                   CudaStreamHandle stream);

// streams.cc
CudaStreamHandle create_stream(int device);
void destroy_stream(int device, CudaStreamHandle stream);
void synchronize(int device, CudaStreamHandle stream);
void synchronize_all(int device);
bool is_capturing(int device, CudaStreamHandle stream);
CudaEventHandle create_event(int device);
void destroy_event(int device, CudaEventHandle event);
void record(int device, CudaEventHandle event, CudaStreamHandle stream);
void wait(int device, CudaStreamHandle stream, CudaEventHandle event);
void wait_on_host(int device, CudaEventHandle event);

}  // namespace ramet
