// The CUDA seam: what the engine needs of a GPU, as tables of function pointers. Nothing above
// src/kernels/cuda/ sees a CUDA header or an #ifdef. A build without CUDA links a source file in
// which cuda_backend() is nullptr.
//
// Devices are numbered as CUDA numbers them. Every call names its device and restores the calling
// thread's current device, unless the process has not used that device: restoring it would allocate
// memory there. Streams and events are CUDA's own handles (cudaStream_t, cudaEvent_t), so a caller
// may pass those of another library; the null stream is CUDA's default one. Calls that take a
// stream are asynchronous: their memory must live until the stream has finished.
//
// Threads: any, at any time; also while a thread captures a stream into a graph, which no call here
// breaks unless it is given that stream. Forks: CUDA does not survive a fork; in the child of a
// process that has used it every call throws, naming both processes. Failure: kDevice where there
// is no GPU or the driver refuses, kNoSpace where memory is short, each naming the call, the device
// and the sizes; a kernel that fails is named.
#pragma once

#include <cstdint>

#include "kernels/cuda_edge_sums.h"
#include "kernels/cuda_named_rows.h"
#include "kernels/cuda_negatives.h"
#include "kernels/cuda_pieces.h"
#include "kernels/cuda_rows.h"
#include "kernels/cuda_sampling.h"
#include "kernels/cuda_walks.h"
#include "ramet/cuda.h"

namespace ramet {

using CudaEventHandle = void*;

struct CudaRuntime {
  CudaVersions (*versions)();
  // At least 1; kDevice says why there is none.
  int (*num_devices)();
  CudaDevice (*describe)(int device);
  int64_t (*free_bytes)(int device);

  // Device memory, aligned to 256 bytes. kNoSpace. Freeing does not wait: the caller must know that
  // no stream still uses the memory. `free*` never throw.
  void* (*allocate)(int device, int64_t bytes);
  void (*free)(int device, void* data);
  // Page-locked memory of the host, which every device reads and writes in place.
  void* (*allocate_pinned)(int64_t bytes);
  void (*free_pinned)(void* data);
  // Page-locks [data, data + bytes), where kernels of every device may then read it in place, at
  // device_address(). The range must not overlap a registered one. kDevice where the driver
  // refuses, naming its reason. See HostRegistration (cuda_memory.h), which counts references.
  // Without registers_read_only(), all pages must be such as this process may write.
  void (*register_host)(const void* data, int64_t bytes, bool writable);
  bool (*registers_read_only)();
  void (*unregister_host)(const void* data);  // never throws
  void* (*device_address)(int device, const void* registered);
  // `data` is page-locked: registered, or allocated so, by us or by another library.
  bool (*is_page_locked)(const void* data);

  // Streams of our own do not wait for the default stream, nor it for them.
  CudaStreamHandle (*create_stream)(int device);
  void (*destroy_stream)(int device, CudaStreamHandle stream);  // never throws
  // Waits for all work given to the stream so far; errors of its kernels are thrown here.
  void (*synchronize)(int device, CudaStreamHandle stream);
  void (*synchronize_all)(int device);  // the same for every stream of the device
  // Whether the stream is recorded into a graph now, or the default stream must not be used since
  // one that it waits for is. Work would become part of the graph, and questions would break it.
  bool (*is_capturing)(int device, CudaStreamHandle stream);
  // Without a time; who waits for it on the host sleeps.
  CudaEventHandle (*create_event)(int device);
  void (*destroy_event)(int device, CudaEventHandle event);  // never throws
  void (*record)(int device, CudaEventHandle event, CudaStreamHandle stream);
  // Later work on `stream` waits for the event.
  void (*wait)(int device, CudaStreamHandle stream, CudaEventHandle event);
  void (*wait_on_host)(int device, CudaEventHandle event);

  // Between any of device, page-locked and ordinary host memory. For ordinary host memory the copy
  // is complete when the call returns.
  void (*copy)(int device, void* to, const void* from, int64_t bytes, CudaStreamHandle stream);
  void (*fill)(int device, void* data, uint8_t byte, int64_t bytes, CudaStreamHandle stream);
  // Makes `bytes` bytes zero at the beginning of each of `count` rows, which begin at multiples of
  // `row_bytes` from `data` on.
  void (*clear_columns)(int device,
                        void* data,
                        int64_t row_bytes,
                        int64_t bytes,
                        int64_t count,
                        CudaStreamHandle stream);
};

struct CudaBackend {
  const char* name;        // "cuda", or "emulated" in tests
  int dlpack_device_type;  // of its memory, for tensors of other libraries: kDLCUDA
  CudaRuntime runtime;
  const CudaPieces* pieces;
  CudaRowKernels rows;
  CudaNamedRowKernels named_rows;
  CudaSamplingKernels sampling;
  void (*sum_edges)(int device, const CudaEdgeSumArgs& args, CudaStreamHandle stream);
  void (*transpose)(int device, const CudaTransposeArgs& args, CudaStreamHandle stream);
  void (*walk)(int device, const CudaWalkArgs& args, CudaStreamHandle stream);
  void (*draw_negatives)(int device, const CudaNegativesArgs& args, CudaStreamHandle stream);
};

// nullptr where the library was built without CUDA.
[[nodiscard]] const CudaBackend* cuda_backend();
// The same; throws kDevice, which says how to build with CUDA, if there is none.
[[nodiscard]] const CudaBackend& require_cuda();

}  // namespace ramet
