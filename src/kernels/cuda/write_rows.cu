// Rows set, and rows summed: a warp takes a row of the table, and reads what is listed for it in
// the order of positions, each lane its columns. A sum is made before it is added once, so the bits
// are those of src/tables/host/write_rows.cc, whatever order warps run in; no atomic is needed.
#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/named_rows.cuh"
#include "kernels/cuda/named_rows.h"

namespace ramet {
namespace {

// What a list gives for an element: of the table's dtype, or float32.
template <typename Element>
__device__ typename Element::Value value_at(const CudaListedRows& list, int64_t index) {
  if constexpr (sizeof(typename Element::Stored) != sizeof(typename Element::Value)) {
    if (list.dtype == DType::kFloat32) return static_cast<const float*>(list.rows)[index];
  }
  return Element::load(static_cast<const typename Element::Stored*>(list.rows)[index]);
}

template <typename Element>
__global__ void __launch_bounds__(kRowThreads) set_rows_kernel(CudaWriteArgs args) {
  using Stored = typename Element::Stored;
  const WarpRows warp;
  for (int64_t r = warp.first; r < args.named.count; r += warp.stride) {
    const CudaListedRow listed =
        find_listed(args.named, args.named.positions[args.named.starts[r + 1] - 1]);
    Stored* const row = static_cast<Stored*>(args.table) + args.named.rows[r] * args.width;
    for (int64_t c = warp.lane; c < args.width; c += kWarpLanes) {
      const int64_t index = listed.row * args.width + c;
      if (listed.list->dtype == args.dtype)
        row[c] = static_cast<const Stored*>(listed.list->rows)[index];
      else
        row[c] = Element::store(value_at<Element>(*listed.list, index));
    }
  }
}

template <typename Element>
__global__ void __launch_bounds__(kRowThreads) sum_rows_kernel(CudaWriteArgs args) {
  using Value = typename Element::Value;
  const WarpRows warp;
  for (int64_t r = warp.first; r < args.named.count; r += warp.stride) {
    const uint32_t begin = args.named.starts[r], end = args.named.starts[r + 1];
    auto* const row =
        static_cast<typename Element::Stored*>(args.table) + args.named.rows[r] * args.width;
    for (int64_t c = warp.lane; c < args.width; c += kWarpLanes) {
      Value sum{};
      for (uint32_t i = begin; i < end; ++i) {
        const CudaListedRow listed = find_listed(args.named, args.named.positions[i]);
        const Value value = value_at<Element>(*listed.list, listed.row * args.width + c);
        sum = i == begin ? value : static_cast<Value>(sum + value);
      }
      row[c] = Element::store(static_cast<Value>(Element::load(row[c]) + sum));
    }
  }
}

template <typename Kernel>
void launch_rows(
    const char* name, Kernel kernel, int device, const CudaWriteArgs& args, void* stream) {
  const RowGrid grid = row_grid(kernel, device, args.named.count, kWarpLanes, 0);
  launch(name, kernel, grid.blocks, grid.threads, static_cast<cudaStream_t>(stream), args);
}

// Integers as unsigned ones, which wrap around.
template <typename Body>
void with_element(DType dtype, Body body) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kUInt8:
      return body(PlainElement<uint8_t>{});
    case DType::kInt16:
    case DType::kUInt16:
      return body(PlainElement<uint16_t>{});
    case DType::kInt32:
    case DType::kUInt32:
      return body(PlainElement<uint32_t>{});
    case DType::kInt64:
    case DType::kUInt64:
      return body(PlainElement<uint64_t>{});
    case DType::kFloat16:
      return body(HalfElement{});
    case DType::kBFloat16:
      return body(BFloat16Element{});
    case DType::kFloat32:
      return body(PlainElement<float>{});
    case DType::kFloat64:
      return body(PlainElement<double>{});
  }
}

}  // namespace

void set_named_rows_cuda(int device, const CudaWriteArgs& args, void* stream) {
  if (args.named.count == 0 || args.width == 0) return;
  const DeviceScope scope(device);
  with_element(args.dtype, [&](auto element) {
    launch_rows("set_rows", set_rows_kernel<decltype(element)>, device, args, stream);
  });
}

void sum_named_rows_cuda(int device, const CudaWriteArgs& args, void* stream) {
  if (args.named.count == 0 || args.width == 0) return;
  const DeviceScope scope(device);
  with_element(args.dtype, [&](auto element) {
    launch_rows("sum_rows", sum_rows_kernel<decltype(element)>, device, args, stream);
  });
}

}  // namespace ramet
