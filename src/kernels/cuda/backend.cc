// The table of what src/kernels/cuda/ offers.
#include "kernels/cuda/edge_sums.h"
#include "kernels/cuda/named_rows.h"
#include "kernels/cuda/negatives.h"
#include "kernels/cuda/pieces.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/walks.h"
#include "kernels/cuda_backend.h"

namespace ramet {
namespace {

constexpr CudaRuntime kRuntime{
    .versions = find_cuda_versions,
    .num_devices = num_cuda_devices,
    .describe = describe_cuda_device,
    .free_bytes = free_cuda_bytes,
    .allocate = allocate_on_device,
    .free = free_on_device,
    .allocate_pinned = allocate_pinned,
    .free_pinned = free_pinned,
    .register_host = register_host,
    .registers_read_only = registers_read_only,
    .unregister_host = unregister_host,
    .device_address = device_address,
    .is_page_locked = is_page_locked,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .synchronize = synchronize,
    .synchronize_all = synchronize_all,
    .is_capturing = is_capturing,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record = record,
    .wait = wait,
    .wait_on_host = wait_on_host,
    .copy = copy,
    .fill = fill,
    .clear_columns = clear_columns,
};

constexpr CudaBackend kBackend{
    .name = RAMET_BACKEND_NAME,
    .dlpack_device_type = RAMET_DLPACK_DEVICE_TYPE,
    .runtime = kRuntime,
    .pieces = &kCudaPieces,
    .rows = {gather_rows_cuda, gather_decoded_cuda, scatter_rows_cuda, round_rows_cuda,
             order_ids_cuda},
    .named_rows = {set_named_rows_cuda, sum_named_rows_cuda, update_named_rows_cuda,
                   find_positions_cuda},
    .sampling = kCudaSamplingKernels,
    .sum_edges = sum_edges_cuda,
    .transpose = transpose_cuda,
    .walk = walk_cuda,
    .draw_negatives = draw_negatives_cuda,
};

}  // namespace

const CudaBackend* cuda_backend() {
  return &kBackend;
}

}  // namespace ramet
