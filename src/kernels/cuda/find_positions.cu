// The positions of ids: by a map, or among ranges by a binary search that branches on no id.
#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/named_rows.h"
#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/row_ids.cuh"

namespace ramet {
namespace {

__device__ int64_t position_of(const CudaFindPositionsArgs& args, int64_t id) {
  if (args.map != nullptr) return id_at(args.map, args.wide_map, id);
  int part = 0;
  for (int step = args.size / 2; step > 0; step /= 2)
    part += args.begins[part + step - 1] <= id ? step : 0;
  return id + args.deltas[part];
}

__global__ void __launch_bounds__(kRowThreads) find_positions_kernel(CudaFindPositionsArgs args) {
  const RowLanes ids(1);
  for (int64_t i = ids.first_row; i < args.num_ids; i += ids.stride) {
    const int64_t id = id_at(args.ids, args.wide_ids, i);
    const bool fits = is_row(id, args.num_rows);
    args.positions[i] = fits ? position_of(args, id) : -1;
    if (!fits) report_bad(args.bad, i);
  }
}

}  // namespace

void find_positions_cuda(int device, const CudaFindPositionsArgs& args, void* stream) {
  if (args.num_ids == 0) return;
  const DeviceScope scope(device);
  const RowGrid grid = row_grid(find_positions_kernel, device, args.num_ids, 1, 0);
  launch("find_positions", find_positions_kernel, grid.blocks, grid.threads,
         static_cast<cudaStream_t>(stream), args);
}

}  // namespace ramet
