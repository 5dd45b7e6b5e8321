// A step of an optimizer, for the rows that have gradients: one pass over weight, state and
// gradients, a warp for a row, each lane its columns. The rules are those of
// kernels/cpu/update_lanes.h, element by element and without fused multiplications: the CPU's bits.
#include "kernels/cpu/update_lanes.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/named_rows.cuh"
#include "kernels/cuda/named_rows.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr unsigned kAllLanes = 0xffffffff;

// An L of update_lanes.h.
struct Lane {
  using Vector = float;
  static constexpr float load(const float* p) { return *p; }
  static constexpr void store(float* p, float v) { *p = v; }
  static constexpr float fill(float v) { return v; }
  static constexpr float add(float a, float b) { return a + b; }
  static constexpr float sub(float a, float b) { return a - b; }
  static constexpr float mul(float a, float b) { return a * b; }
  static constexpr float div(float a, float b) { return a / b; }
  static __host__ __device__ float sqrt(float a) { return sqrtf(a); }
};

// The sum of the gradients for column c of distinct row r, in the order of positions.
__device__ float gradient_of(const CudaUpdateArgs& args, int64_t r, int64_t c) {
  const CudaNamedRows& named = args.weights.named;
  const uint32_t begin = named.starts[r], end = named.starts[r + 1];
  float sum = 0;
  for (uint32_t i = begin; i < end; ++i) {
    const CudaListedRow listed = find_listed(named, named.positions[i]);
    const float value =
        static_cast<const float*>(listed.list->rows)[listed.row * args.weights.width + c];
    sum = i == begin ? value : sum + value;
  }
  return args.divisor == 1 ? sum : sum / args.divisor;
}

template <typename Element>
__device__ typename Element::Stored* weights_of(const CudaUpdateArgs& args, int64_t row) {
  return static_cast<typename Element::Stored*>(args.weights.table) + row * args.weights.width;
}

// As mean_square() of update_lanes.h: 16 lanes have a part each. All lanes get the result.
template <typename Element>
__device__ float mean_square_of(const CudaUpdateArgs& args, int64_t r, int64_t row, int lane) {
  const int64_t width = args.weights.width;
  RowUpdate element = args.constants;
  float part = 0;
  for (int64_t c = lane; lane < kParts && c < width; c += kParts) {
    const float gradient = gradient_of(args, r, c);
    float weight = Element::load(weights_of<Element>(args, row)[c]);
    element.gradient = &gradient;
    element.weight = &weight;
    const float value = decayed_gradient<Lane>(element, 0);
    part = part + value * value;
  }
  for (int half = kParts / 2; half > 0; half /= 2) {
    const float other = __shfl_down_sync(kAllLanes, part, static_cast<unsigned>(half));
    part = part + other;
  }
  return __shfl_sync(kAllLanes, part, 0) / static_cast<float>(width);
}

__device__ void update_element(UpdateRule rule, const RowUpdate& element) {
  switch (rule) {
    case UpdateRule::kSgd:
      return Sgd{element}.run<Lane>(0);
    case UpdateRule::kAdaGrad:
      return AdaGrad{element}.run<Lane>(0);
    case UpdateRule::kRowwiseAdaGrad:
      return RowwiseAdaGrad{element}.run<Lane>(0);
    case UpdateRule::kRmsProp:
      return RmsProp{element}.run<Lane>(0);
    case UpdateRule::kAdam:
      return Adam{element}.run<Lane>(0);
  }
}

// What the lanes of a row have alike; its count and its sum of squares are written by the first.
template <typename Element>
__device__ RowUpdate
prepare_row(const CudaUpdateArgs& args, int64_t r, int64_t row, int lane, float* row_square) {
  RowUpdate update = args.constants;
  if (args.steps != nullptr) {
    int32_t number = 0;
    if (lane == 0) {
      number = args.steps[row];
      number += number < INT32_MAX ? 1 : 0;
      args.steps[row] = number;
    }
    const AdamRates rates = adam_rates(args.adam, __shfl_sync(kAllLanes, number, 0));
    update.rate = rates.rate;
    update.root_scale = rates.root_scale;
  }
  if (args.rule == UpdateRule::kRowwiseAdaGrad) {
    const float mean = mean_square_of<Element>(args, r, row, lane);
    float square = 0;
    if (lane == 0) {
      square = args.moment2[row] + mean;
      args.moment2[row] = square;
    }
    *row_square = __shfl_sync(kAllLanes, square, 0);
  }
  return update;
}

template <typename Element>
__device__ typename Element::Stored rounded(const CudaUpdateArgs& args,
                                            float value,
                                            int64_t row,
                                            int64_t c) {
  if constexpr (sizeof(typename Element::Stored) == 2) {
    if (args.stochastic) {
      const int64_t id = args.row_ids == nullptr ? row : args.row_ids[row - args.first_row];
      const uint64_t key = absorb(args.rounding_key, static_cast<uint64_t>(id));
      const uint64_t word = absorb(key, static_cast<uint64_t>(c) / 4) >> (c % 4 * 16);
      return Element::store_either(value, static_cast<uint32_t>(word & 0xffff));
    }
  }
  return Element::store(value);
}

template <typename Element>
__global__ void __launch_bounds__(kRowThreads) update_rows_kernel(CudaUpdateArgs args) {
  const WarpRows warp;
  const int64_t width = args.weights.width;
  for (int64_t r = warp.first; r < args.weights.named.count; r += warp.stride) {
    const int64_t row = args.weights.named.rows[r];
    float row_square = 0;
    RowUpdate element = prepare_row<Element>(args, r, row, warp.lane, &row_square);
    auto* const weights = weights_of<Element>(args, row);
    for (int64_t c = warp.lane; c < width; c += kWarpLanes) {
      const float gradient = gradient_of(args, r, c);
      float weight = Element::load(weights[c]);
      element.weight = &weight;
      element.gradient = &gradient;
      element.moment1 = args.moment1 == nullptr ? nullptr : args.moment1 + row * width + c;
      element.moment2 = args.moment2 == nullptr ? nullptr : args.moment2 + row * width + c;
      if (args.rule == UpdateRule::kRowwiseAdaGrad) element.moment2 = &row_square;
      update_element(args.rule, element);
      weights[c] = rounded<Element>(args, weight, row, c);
    }
  }
}

template <typename Element>
void launch_update(int device, const CudaUpdateArgs& args, void* stream) {
  const auto kernel = update_rows_kernel<Element>;
  const RowGrid grid = row_grid(kernel, device, args.weights.named.count, kWarpLanes, 0);
  launch("update_rows", kernel, grid.blocks, grid.threads, static_cast<cudaStream_t>(stream), args);
}

}  // namespace

void update_named_rows_cuda(int device, const CudaUpdateArgs& args, void* stream) {
  if (args.weights.named.count == 0) return;
  const DeviceScope scope(device);
  if (args.weights.dtype == DType::kFloat16)
    launch_update<HalfElement>(device, args, stream);
  else if (args.weights.dtype == DType::kBFloat16)
    launch_update<BFloat16Element>(device, args, stream);
  else
    launch_update<PlainElement<float>>(device, args, stream);
}

}  // namespace ramet
