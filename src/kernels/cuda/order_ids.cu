// Ids by the region of the table that their rows are in: counted, summed up, and put in their
// positions. Of ids of one region any may come first: the order decides when a row is read, and not
// what becomes of it.
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/row_ids.cuh"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

// Ids of no row have a region of their own, the last.
__device__ unsigned region_of(const CudaOrderArgs& args, const RowRegions& regions, int64_t id) {
  if (!is_row(id, args.num_rows)) return static_cast<unsigned>(regions.count);
  return static_cast<unsigned>((id * args.row_bytes) >> regions.shift);
}

// Adds one to the counter of this lane's region, and returns what was there before: by one atomic
// operation for all lanes of the warp that have the same region, since many do where a few regions
// have most of the ids. All lanes call it; those without an id count nothing.
__device__ unsigned count_one(uint32_t* counters, bool has_id, unsigned region) {
  const unsigned same = __match_any_sync(kAllLanes, has_id ? region : ~0u);
  const unsigned lane = threadIdx.x % kWarp;
  const int first_lane = __ffs(static_cast<int>(same)) - 1;
  unsigned before = 0;
  if (has_id && static_cast<int>(lane) == first_lane)
    before = atomicAdd(counters + region, static_cast<unsigned>(__popc(same)));
  before = __shfl_sync(kAllLanes, before, first_lane);
  return before + static_cast<unsigned>(__popc(same & ((1u << lane) - 1)));
}

// begins[r + 1]: the ids of region r.
__global__ void count_regions(CudaOrderArgs args, RowRegions regions) {
  const int64_t i = thread_number();
  const bool has_id = i < args.num_ids;
  const int64_t id = has_id ? id_at(args.ids, args.wide_ids, i) : 0;
  count_one(args.begins + 1, has_id, region_of(args, regions, id));
}

__global__ void place_ids(CudaOrderArgs args, RowRegions regions) {
  const int64_t i = thread_number();
  const bool has_id = i < args.num_ids;
  const int64_t id = has_id ? id_at(args.ids, args.wide_ids, i) : 0;
  const unsigned position = count_one(args.begins, has_id, region_of(args, regions, id));
  if (!has_id) return;
  args.positions[position] = static_cast<uint32_t>(i);
  if (args.wide_ids)
    static_cast<int64_t*>(args.ordered)[position] = id;
  else
    static_cast<int32_t*>(args.ordered)[position] = static_cast<int32_t>(id);
}

}  // namespace

void order_ids_cuda(int device, const CudaOrderArgs& args, void* stream) {
  const DeviceScope scope(device);
  const RowRegions regions = row_regions(args.num_rows, args.row_bytes);
  const int64_t num_counters = cuda_order_counters(args.num_rows, args.row_bytes);
  check_cuda(cudaMemsetAsync(args.begins, 0, static_cast<size_t>(4 * num_counters),
                             static_cast<cudaStream_t>(stream)),
             "clearing the counters of regions");
  launch_each("count_regions", count_regions, args.num_ids, stream, args, regions);
  running_sum(args.begins, num_counters, args.scan, stream);
  launch_each("place_ids", place_ids, args.num_ids, stream, args, regions);
}

}  // namespace ramet
