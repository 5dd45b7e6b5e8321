// The gather: row ids[i] of a table becomes a row of the output, whichever way an element is
// converted.
//
// A row is moved by as many lanes as it has units of up to 16 bytes, up to a warp, by requests that
// begin at the lines of the table, wherever the row begins (row_access.h). The table may be memory
// of the host that a lane reads over PCIe: nothing is staged, no processor is asked. Rows that the
// device's cache has are read there, by the same lanes in the same kernel. A lane has several loads
// on their way, of one wide row or of several narrow ones.
#pragma once

#include "kernels/cuda/aligned_row.cuh"
#include "kernels/cuda/found_row.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/realigned_row.cuh"
#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda_rows.h"
#include "ramet/error.h"

namespace ramet {

constexpr int64_t kMostRowBytes = int64_t{1} << 30;  // offsets in a row are 32-bit integers

// Adds up the warp's hits; all lanes take part.
__device__ inline void count_hits(uint64_t* total, unsigned hits) {
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2)
    hits += __shfl_down_sync(0xffffffffu, hits, distance);
  if (threadIdx.x % kWarpLanes == 0 && hits > 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(hits));
}

// A Row is an AlignedRow or a RealignedRow; kRows of them are moved at once.
template <typename Row, int kRows>
__global__ void __launch_bounds__(kLimitedThreads, 1)
    gather_units(CudaGatherArgs args, RowScales scales, RowAccess access) {
  constexpr int kSteps = kLoadsInFlight / kRows;
  const RowLanes rows(access.lanes);
  unsigned hits = 0;
  ReadIds<kRows> next(args, rows.first_row, rows.stride);
  for (int64_t i = rows.first_row; i < args.num_ids; i += kRows * rows.stride) {
    const FindRows<kRows> found(args, next);
    next = ReadIds<kRows>(args, i + kRows * rows.stride, rows.stride);
    Row row[kRows];
    for (int r = 0; r < kRows; ++r) {
      if (rows.lane == 0) found.report(args, r);
      hits += rows.lane == 0 && found.is_hit(r);
      row[r] = Row(args, access, found.row(args, scales, r), rows.lane);
    }
    // Narrow rows are moved in one go, and only wide ones take a loop.
    for (int step = 0; step < (kRows == 1 ? access.steps : kSteps); step += kSteps) {
      typename Row::Source loaded[kRows][kSteps];
      for (int r = 0; r < kRows; ++r)
        for (int s = 0; s < kSteps; ++s)
          loaded[r][s] = row[r].load(args, access, step + s);
      for (int r = 0; r < kRows; ++r)
        for (int s = 0; s < kSteps; ++s)
          row[r].store(args, access, step + s, loaded[r][s]);
    }
  }
  if (args.cache.slot != nullptr && args.cache.hits != nullptr) count_hits(args.cache.hits, hits);
}

struct GatherCall {
  const char* name;
  int device;
  const CudaGatherArgs& args;
  RowScales scales;
  RowAccess access;
  void* stream;
};

// Multiprocessors that a gather may use; 0: all. Where the device reads memory of the host by the
// host's own page tables, no PCIe is in between, and nothing is known of how much keeps it busy.
inline int sms_of(const GatherCall& call) {
  if (call.args.max_sms != kEnoughSms) return call.args.max_sms;
  if (!call.args.on_host) return 0;
  int shares_pages = 0;
  check_cuda(cudaDeviceGetAttribute(&shares_pages,
                                    cudaDevAttrPageableMemoryAccessUsesHostPageTables, call.device),
             "asking how a device reads memory of the host");
  return shares_pages != 0 ? 0 : sms_for_bus(call.access, call.args.row_bytes);
}

template <typename Row, int kRows>
void launch_rows(const GatherCall& call) {
  const auto kernel = gather_units<Row, kRows>;
  const RowGrid grid =
      row_grid(kernel, call.device, call.args.num_ids, call.access.lanes, sms_of(call));
  launch(call.name, kernel, grid.blocks, grid.threads, static_cast<cudaStream_t>(call.stream),
         call.args, call.scales, call.access);
}

template <typename Row>
void launch_one_or_two(const GatherCall& call) {
  if (rows_at_once(call.access) == 2) return launch_rows<Row, 2>(call);
  launch_rows<Row, 1>(call);
}

template <typename Unit>
void launch_gather(const GatherCall& call) {
  if (call.args.row_bytes > kMostRowBytes)
    throw_invalid("rows have ", call.args.row_bytes, " bytes, a device gathers at most ",
                  kMostRowBytes);
  if constexpr (sizeof(typename Unit::Source) == kWordBytes)
    if (call.access.realigns) return launch_one_or_two<RealignedRow<Unit>>(call);
  // Units of less than a word are those of the shortest rows.
  if constexpr (sizeof(typename Unit::Source) >= kWordBytes)
    if (rows_at_once(call.access) < kLoadsInFlight)
      return launch_one_or_two<AlignedRow<Unit>>(call);
  launch_rows<AlignedRow<Unit>, kLoadsInFlight>(call);
}

}  // namespace ramet
