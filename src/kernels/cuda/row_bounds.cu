// Where the in-edges of destinations stand: two offsets for each, read at random.
#include <algorithm>

#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

constexpr int64_t kMostPicks = kCudaMaxEdges + 2;  // of a row, as far as sums are concerned

__device__ int64_t num_picks(int64_t fanout, bool replace, int64_t degree) {
  if (degree == 0) return 0;
  const bool all = fanout < 0 || (!replace && degree < fanout);
  const int64_t picks = all ? degree : fanout;
  return picks < kMostPicks ? picks : kMostPicks;
}

__global__ void read_rows(CudaRowsArgs args) {
  const int64_t i = thread_number();
  if (i == 0) args.offset[0] = 0;
  if (i >= args.num_dst) return;
  const int64_t* indptr = args.edges.indptr + args.nodes[i];
  CudaRow row{__ldg(indptr), 0};
  const int64_t end = __ldg(indptr + 1);
  const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(args.edges.num_edges) &&
                    static_cast<uint64_t>(row.begin) <= static_cast<uint64_t>(end);
  if (fits) {
    row.degree = end - row.begin;
  } else {
    record_bad(args.bad, i);
  }
  args.row[i] = row;
  args.offset[i + 1] = num_picks(args.fanout, args.replace, row.degree);
}

}  // namespace

int64_t cuda_sampling::scan_bytes(int device, int64_t count) {
  const DeviceScope scope(device);
  return std::max(running_sum_bytes<int64_t>(count), running_sum_bytes<uint32_t>(count));
}

void cuda_sampling::rows(int device, const CudaRowsArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("read_rows", read_rows, std::max<int64_t>(args.num_dst, 1), stream, args);
  running_sum(args.offset + 1, args.num_dst, args.scan, stream);
}

}  // namespace ramet
