#include "edge_rows.h"

#include "edge_rows_lanes.h"
#include "ramet/isa.h"
#include "row_lanes_plain.h"

namespace ramet {
namespace {

template <int64_t kCount>
EdgeRowsKernels plain_kernels(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return edge_rows_kernels_of<PlainFull<float, kCount>>();
    case RowType::kFloat64:
      return edge_rows_kernels_of<PlainFull<double, kCount>>();
    case RowType::kBFloat16:
      return edge_rows_kernels_of<PlainHalves<from_bfloat16, DType::kBFloat16, kCount>>();
    case RowType::kFloat16:
      return edge_rows_kernels_of<PlainHalves<from_half, DType::kFloat16, kCount>>();
  }
  return {};
}

}  // namespace

EdgeRowsKernels edge_rows_single(RowType type) {
  return plain_kernels<1>(type);
}

EdgeRowsKernels edge_rows_portable(RowType type) {
  return plain_kernels<4>(type);
}

EdgeRowsKernels edge_rows_kernels(RowType type, int64_t width) {
  EdgeRowsKernels best = edge_rows_single(type);
  const auto offer = [&](const EdgeRowsKernels& kernels) {
    if (kernels.dots != nullptr && kernels.lanes <= width) best = kernels;
  };
  offer(edge_rows_portable(type));
  if (isa() >= Isa::kAvx2) offer(edge_rows_avx2(type));
  if (isa() >= Isa::kAvx512) offer(edge_rows_avx512(type));
  return best;
}

}  // namespace ramet
