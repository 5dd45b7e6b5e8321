// Running sums of the weights of each row, from which independent draws are made;
// docs/semantics.md, section 13. A warp adds up a row: its lanes load the weights, and all of them
// add these one after the other, as the CPU does.
#include <algorithm>

#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

__global__ void sum_rows(CudaSumWeightsArgs args) {
  const int64_t row = thread_number() / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  if (row == 0 && lane == 0) args.picks_before[0] = 0;
  if (row >= args.rows.num_dst) return;  // the whole warp
  const int64_t end = args.rows.offset[row + 1];
  double sum = 0;
  for (int64_t first = args.rows.offset[row]; first < end; first += kWarp) {
    const int64_t e = first + lane;
    const double weight =
        e < end ? load_weight(args.weights, args.rows, row, position_of(args.rows, row, e)) : 0;
    double sum_at_e = 0;
    for (unsigned other = 0; other < kWarp; ++other) {
      sum += __shfl_sync(kAllLanes, weight, static_cast<int>(other));
      if (other == lane) sum_at_e = sum;
    }
    if (e < end) args.sums[e] = sum_at_e;
  }
  const int64_t picks = args.fanout <= args.most ? args.fanout : args.most + 1;
  if (lane == 0) args.picks_before[row + 1] = sum > 0 ? picks : 0;
}

}  // namespace

void cuda_sampling::sum_weights(int device, const CudaSumWeightsArgs& args, void* stream) {
  const DeviceScope scope(device);
  const int64_t num_warps = std::max<int64_t>(args.rows.num_dst, 1);
  launch_each("sum_rows", sum_rows, num_warps * kWarp, stream, args);
  running_sum(args.picks_before + 1, args.rows.num_dst, args.scan, stream);
}

}  // namespace ramet
