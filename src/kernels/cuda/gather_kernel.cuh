// The gather: row ids[i] of a table becomes row i of the output, whichever way an element is
// converted.
//
// A row is moved by as many lanes as it has units of up to 16 bytes, up to a warp, by requests that
// begin at the lines of the table, wherever the row begins (row_access.h). The table may be memory
// of the host that a lane reads over PCIe: nothing is staged, no processor is asked. Rows that the
// device's cache has are read there, by the same lanes in the same kernel.
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/move_row.cuh"
#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/row_ids.cuh"
#include "kernels/cuda_rows.h"

namespace ramet {

// The scales of int8: of a row its own, or for every row the same ones.
struct RowScales {
  const float* data = nullptr;
  bool by_row = false;
};

// Where a row is, nullptr for an id that is none's; and its scales.
struct FoundRow {
  const char* data;
  const float* scale;
};

__device__ inline FoundRow find_row(
    const CudaGatherArgs& args, RowScales scales, int64_t i, bool first_lane, unsigned& hits) {
  const int64_t id = id_at(args.ids, args.wide_ids, i);
  if (!is_row(id, args.num_rows)) {
    if (first_lane) report_bad(args.bad, i);
    return {nullptr, nullptr};
  }
  const int slot = args.cache.slot == nullptr ? -1 : __ldg(args.cache.slot + id);
  if (slot >= 0) {
    hits += first_lane;
    return {static_cast<const char*>(args.cache.rows) + slot * args.row_bytes,
            scales.by_row ? args.cache.scale + slot : scales.data};
  }
  return {static_cast<const char*>(args.table) + id * args.row_bytes,
          scales.by_row ? scales.data + id : scales.data};
}

// Adds up the warp's hits; all lanes take part.
__device__ inline void count_hits(uint64_t* total, unsigned hits) {
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2)
    hits += __shfl_down_sync(0xffffffffu, hits, distance);
  if (threadIdx.x % kWarpLanes == 0 && hits > 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(hits));
}

// A Unit has a Source, what a lane reads at once, a Result, what becomes of it, and is made for a
// row from its scales; unit(source, u) converts the row's u-th.
template <typename Unit>
__global__ void __launch_bounds__(kRowThreads)
    gather_units(CudaGatherArgs args, RowScales scales, RowAccess access) {
  using Source = typename Unit::Source;
  const RowLanes rows(access.lanes);
  const int64_t units = args.row_bytes / static_cast<int64_t>(sizeof(Source));
  unsigned hits = 0;
  for (int64_t i = rows.first_row; i < args.num_ids; i += rows.stride) {
    const FoundRow row = find_row(args, scales, i, rows.lane == 0, hits);
    if (row.data == nullptr) continue;
    auto* const out = static_cast<typename Unit::Result*>(args.out) + i * units;
    move_row(reinterpret_cast<const Source*>(row.data), out, units, access, row.data, rows.lane,
             Unit(row.scale));
  }
  if (args.cache.slot != nullptr && args.cache.hits != nullptr) count_hits(args.cache.hits, hits);
}

template <typename Unit>
void launch_gather(const char* name,
                   int device,
                   const CudaGatherArgs& args,
                   RowScales scales,
                   const RowAccess& access,
                   void* stream) {
  const auto kernel = gather_units<Unit>;
  launch(name, kernel, row_grid(kernel, device, args.num_ids, access.lanes, args.max_sms),
         dim3(kRowThreads), static_cast<cudaStream_t>(stream), args, scales, access);
}

}  // namespace ramet
