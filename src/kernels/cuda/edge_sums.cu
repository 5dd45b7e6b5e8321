// Sums of rows over the edges of a destination: a warp for a destination and 32 units of columns, a
// lane for each unit of up to four columns. The rows of edges are never written to memory, as those
// who gather first must: an edge costs one read of its row. The lanes read 32 sources at once and
// hand them around; four rows are on their way before the first is added. A column's sum is one
// lane's, in the order of edges: the CPU's bits (kernels/cpu/aggregate.h).
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/edge_sums.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/named_rows.cuh"

namespace ramet {
namespace {

constexpr int kRowsInFlight = 4;
constexpr int kWarpsOfBlock = 8;
constexpr unsigned kWholeWarp = 0xffffffff;

// The columns of a lane.
template <typename Element, int kColumns>
struct alignas(sizeof(typename Element::Stored) * kColumns) Unit {
  typename Element::Stored stored[kColumns];
};

template <int kColumns>
struct alignas(sizeof(float) * kColumns) Sums {
  float of[kColumns];
};

template <typename Element, int kColumns>
__global__ void __launch_bounds__(kWarpsOfBlock* kWarpLanes) sum_edges(CudaEdgeSumArgs args) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int64_t d = int64_t{blockIdx.x} * kWarpsOfBlock + threadIdx.x / kWarpLanes;
  const int64_t column = (int64_t{blockIdx.y} * kWarpLanes + lane) * kColumns;
  if (d >= args.num_dst) return;
  const bool has_columns = column < args.width;
  const int64_t head = has_columns ? column / (args.width / args.heads) : 0;
  const int64_t end = std::min(args.indptr[d + 1], args.num_edges);
  const auto* const x = static_cast<const typename Element::Stored*>(args.x) + column;
  Sums<kColumns> sums{};
  for (int64_t first = std::max(args.indptr[d], int64_t{0}); first < end; first += kWarpLanes) {
    const int count = static_cast<int>(std::min(end - first, int64_t{kWarpLanes}));
    const int source = lane < count ? __ldg(args.indices + first + lane) : 0;
    for (int begin = 0; begin < count; begin += kRowsInFlight) {
      Unit<Element, kColumns> row[kRowsInFlight];
      float weight[kRowsInFlight];
      for (int k = 0; k < kRowsInFlight; ++k) {
        const int64_t s = __shfl_sync(kWholeWarp, source, begin + k);
        const bool reads = has_columns && begin + k < count;
        weight[k] = s >= 0 && s < args.num_rows ? 1 : std::numeric_limits<float>::quiet_NaN();
        row[k] = {};
        if (!reads || weight[k] != 1) continue;
        row[k] = *reinterpret_cast<const Unit<Element, kColumns>*>(x + s * args.width);
        if (args.weights != nullptr)
          weight[k] = __ldg(args.weights + (first + begin + k) * args.heads + head);
      }
      for (int k = 0; k < kRowsInFlight && begin + k < count; ++k)
        for (int c = 0; c < kColumns; ++c)
          sums.of[c] += weight[k] * Element::load(row[k].stored[c]);
    }
  }
  if (has_columns) *reinterpret_cast<Sums<kColumns>*>(args.out + d * args.width + column) = sums;
}

template <typename Element, int kColumns>
void launch_sums(const CudaEdgeSumArgs& args, void* stream) {
  constexpr int64_t kColumnsOfWarp = int64_t{kWarpLanes} * kColumns;
  const dim3 grid(static_cast<unsigned>((args.num_dst + kWarpsOfBlock - 1) / kWarpsOfBlock),
                  static_cast<unsigned>((args.width + kColumnsOfWarp - 1) / kColumnsOfWarp));
  launch("sum_edges", sum_edges<Element, kColumns>, grid, dim3(kWarpsOfBlock * kWarpLanes),
         static_cast<cudaStream_t>(stream), args);
}

bool is_aligned(const void* data, size_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

template <typename Element>
void launch_widest(const CudaEdgeSumArgs& args, void* stream) {
  const bool has_fours = args.width / args.heads % 4 == 0 && is_aligned(args.out, 16) &&
                         is_aligned(args.x, 4 * sizeof(typename Element::Stored));
  if (has_fours) return launch_sums<Element, 4>(args, stream);
  launch_sums<Element, 1>(args, stream);
}

}  // namespace

void sum_edges_cuda(int device, const CudaEdgeSumArgs& args, void* stream) {
  if (args.num_dst == 0 || args.width == 0) return;
  const DeviceScope scope(device);
  if (args.dtype == DType::kFloat16) return launch_widest<HalfElement>(args, stream);
  if (args.dtype == DType::kBFloat16) return launch_widest<BFloat16Element>(args, stream);
  launch_widest<PlainElement<float>>(args, stream);
}

}  // namespace ramet
