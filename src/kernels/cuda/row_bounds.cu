// Where the in-edges of destinations stand: two offsets for each, read at random. And the row that
// each block of picks or in-edges begins in: the partition of load-balancing search (Baxter:
// moderngpu), which the blocks of later kernels then need not search for.
#include <algorithm>

#include "base/first_where.h"
#include "kernels/cuda/edge_time.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

__device__ int64_t num_picks(const CudaRowsArgs& args, int64_t degree) {
  if (degree == 0) return 0;
  const bool all = args.fanout < 0 || (!args.replace && degree < args.fanout);
  const int64_t picks = all ? degree : args.fanout;
  return picks <= args.most ? picks : args.most + 1;
}

// Of a row in the order of times, by bisection.
__device__ CudaRow allowed_part(const CudaRowsArgs& args, const CudaRow& row, int64_t dst) {
  const CudaSpan allowed = args.times.allowed[dst];
  if (allowed.first > allowed.last) return {row.begin, 0};
  const auto time_at = [&](int64_t x) {
    const EdgeTime time = time_of(args.edges, args.times, row.begin + x);
    if (!time.is_good) record_bad(args.bad, dst);
    return time.value;
  };
  const int64_t end =
      first_where(0, row.degree, [&](int64_t x) { return time_at(x) > allowed.last; });
  const int64_t first = first_where(0, end, [&](int64_t x) { return time_at(x) >= allowed.first; });
  return {row.begin + first, end - first};
}

__global__ void read_rows(CudaRowsArgs args) {
  const int64_t i = thread_number();
  if (i == 0) args.offset[0] = 0;
  if (i >= args.num_dst) return;
  const int64_t* indptr = args.edges.indptr + (args.rows == nullptr ? i : args.rows[i]);
  CudaRow row{__ldg(indptr), 0};
  const int64_t end = __ldg(indptr + 1);
  const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(args.edges.num_edges) &&
                    static_cast<uint64_t>(row.begin) <= static_cast<uint64_t>(end);
  if (fits) {
    row.degree = end - row.begin;
    if (args.times.allowed != nullptr) row = allowed_part(args, row, dst_of(args.dst, i));
    if (args.last >= 0 && row.degree > args.last)
      row = {row.begin + row.degree - args.last, args.last};
  } else {
    record_bad(args.bad, dst_of(args.dst, i));
  }
  args.row[i] = row;
  args.offset[i + 1] = num_picks(args, row.degree);
}

__global__ void place_counts(CudaPlaceRowsArgs args) {
  const int64_t i = thread_number();
  if (i == 0) args.indptr[0] = 0;
  if (i < args.num_dst) {
    args.indptr[args.dst[i] + 1] = args.picks_before[i + 1] - args.picks_before[i];
  }
}

__global__ void find_first_rows(CudaFirstRowsArgs args, int64_t count) {
  const int64_t block = thread_number();
  if (block >= count) return;
  args.first_row[block] =
      static_cast<int32_t>(row_between(args.offset, 0, args.num_dst - 1, block * kCudaItems));
}

}  // namespace

void cuda_sampling::rows(int device, const CudaRowsArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("read_rows", read_rows, std::max<int64_t>(args.num_dst, 1), stream, args);
  running_sum(args.offset + 1, args.num_dst, args.scan, stream);
}

void cuda_sampling::place_rows(int device, const CudaPlaceRowsArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("place_counts", place_counts, std::max<int64_t>(args.num_dst, 1), stream, args);
  running_sum(args.indptr + 1, args.num_dst, args.scan, stream);
}

void cuda_sampling::first_rows(int device, const CudaFirstRowsArgs& args, void* stream) {
  const DeviceScope scope(device);
  const int64_t count = cuda_first_rows(args.num_items);
  launch_each("find_first_rows", find_first_rows, count, stream, args, count);
}

}  // namespace ramet
