// Sums of rows over the edges of a destination: a warp for a destination and 32 units of columns, a
// lane for each unit of up to four columns. The rows of edges are never written to memory, as those
// who gather first must: an edge costs one read of its row. The lanes read 32 sources at once and
// hand them around; four rows are on their way before the first is added. Rows of a table are found
// by the lanes' ids, and decoded on the way, so they are not gathered before. A column's sum is one
// lane's, in the order of edges: the CPU's bits (kernels/cpu/aggregate.h).
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/edge_sums.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/named_rows.cuh"

namespace ramet {
namespace {

constexpr int kRowsInFlight = 4;
constexpr int kWarpsOfBlock = 8;
constexpr unsigned kWholeWarp = 0xffffffff;

// Of int8, whose scale the kernel multiplies by.
struct ScaledElement {
  using Stored = int8_t;
  __device__ static float load(int8_t stored) { return static_cast<float>(stored); }
};

// The columns of a lane.
template <typename Element, int kColumns>
struct alignas(sizeof(typename Element::Stored) * kColumns) Unit {
  typename Element::Stored stored[kColumns];
};

// The row of x of an edge with this source; one outside of x where there is none.
__device__ int64_t row_of_source(const CudaEdgeSumArgs& args, int source) {
  if (args.ids == nullptr) return source;
  return source >= 0 && source < args.num_ids ? __ldg(args.ids + source) : -1;
}

// By Element, the rows' type, and Out, that of the results.
template <typename Element, typename Out, int kColumns>
__global__ void __launch_bounds__(kWarpsOfBlock* kWarpLanes) sum_edges(CudaEdgeSumArgs args) {
  constexpr bool kIsScaled = std::is_same_v<Element, ScaledElement>;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int64_t d = int64_t{blockIdx.x} * kWarpsOfBlock + threadIdx.x / kWarpLanes;
  const int64_t column = (int64_t{blockIdx.y} * kWarpLanes + lane) * kColumns;
  if (d >= args.num_dst) return;
  const bool has_columns = column < args.width;
  const int64_t head = has_columns ? column / (args.width / args.heads) : 0;
  const int64_t begin_of_row = args.indptr[d], end_of_row = args.indptr[d + 1];
  const int64_t end = std::min(end_of_row, args.num_edges);
  const auto* const x = static_cast<const typename Element::Stored*>(args.x) + column;
  float sums[kColumns] = {};
  float scale_of[kColumns] = {};
  if (kIsScaled && has_columns && !args.scales_rows)
    for (int c = 0; c < kColumns; ++c)
      scale_of[c] = __ldg(args.scale + column + c);
  for (int64_t first = std::max(begin_of_row, int64_t{0}); first < end; first += kWarpLanes) {
    const int count = static_cast<int>(std::min(end - first, int64_t{kWarpLanes}));
    const int64_t own_row =
        lane < count ? row_of_source(args, __ldg(args.indices + first + lane)) : 0;
    for (int begin = 0; begin < count; begin += kRowsInFlight) {
      Unit<Element, kColumns> row[kRowsInFlight];
      float weight[kRowsInFlight], scale[kRowsInFlight];
      for (int k = 0; k < kRowsInFlight; ++k) {
        const int64_t s = __shfl_sync(kWholeWarp, own_row, begin + k);
        const bool reads = has_columns && begin + k < count;
        weight[k] = s >= 0 && s < args.num_rows ? 1 : std::numeric_limits<float>::quiet_NaN();
        row[k] = {};
        scale[k] = 1;
        if (!reads || weight[k] != 1) continue;
        row[k] = *reinterpret_cast<const Unit<Element, kColumns>*>(x + s * args.width);
        if (kIsScaled && args.scales_rows) scale[k] = __ldg(args.scale + s);
        if (args.weights != nullptr)
          weight[k] = __ldg(args.weights + (first + begin + k) * args.heads + head);
      }
      for (int k = 0; k < kRowsInFlight && begin + k < count; ++k)
        for (int c = 0; c < kColumns; ++c) {
          float value = Element::load(row[k].stored[c]);
          if (kIsScaled) value = value * (args.scales_rows ? scale[k] : scale_of[c]);
          sums[c] += weight[k] * value;
        }
    }
  }
  if (!has_columns) return;
  const bool divides = args.is_mean && end_of_row > begin_of_row;
  Unit<Out, kColumns> result;
  for (int c = 0; c < kColumns; ++c)
    result.stored[c] =
        Out::store(divides ? sums[c] / static_cast<float>(end_of_row - begin_of_row) : sums[c]);
  auto* const out = static_cast<typename Out::Stored*>(args.out) + d * args.width + column;
  *reinterpret_cast<Unit<Out, kColumns>*>(out) = result;
}

template <typename Element, typename Out, int kColumns>
void launch_sums(const CudaEdgeSumArgs& args, void* stream) {
  constexpr int64_t kColumnsOfWarp = int64_t{kWarpLanes} * kColumns;
  const dim3 grid(static_cast<unsigned>((args.num_dst + kWarpsOfBlock - 1) / kWarpsOfBlock),
                  static_cast<unsigned>((args.width + kColumnsOfWarp - 1) / kColumnsOfWarp));
  launch("sum_edges", sum_edges<Element, Out, kColumns>, grid, dim3(kWarpsOfBlock * kWarpLanes),
         static_cast<cudaStream_t>(stream), args);
}

template <typename Element>
bool has_fours(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % (4 * sizeof(typename Element::Stored)) == 0;
}

template <typename Element, typename Out = PlainElement<float>>
void launch_widest(const CudaEdgeSumArgs& args, void* stream) {
  const bool fits = args.width / args.heads % 4 == 0;
  if (fits && has_fours<Element>(args.x) && has_fours<Out>(args.out))
    return launch_sums<Element, Out, 4>(args, stream);
  launch_sums<Element, Out, 1>(args, stream);
}

template <typename Element>
void launch_halves(const CudaEdgeSumArgs& args, void* stream) {
  if (args.out_dtype == args.dtype) return launch_widest<Element, Element>(args, stream);
  launch_widest<Element>(args, stream);
}

}  // namespace

void sum_edges_cuda(int device, const CudaEdgeSumArgs& args, void* stream) {
  if (args.num_dst == 0 || args.width == 0) return;
  const DeviceScope scope(device);
  if (args.dtype == DType::kFloat16) return launch_halves<HalfElement>(args, stream);
  if (args.dtype == DType::kBFloat16) return launch_halves<BFloat16Element>(args, stream);
  if (args.dtype == DType::kInt8) return launch_widest<ScaledElement>(args, stream);
  launch_widest<PlainElement<float>>(args, stream);
}

}  // namespace ramet
