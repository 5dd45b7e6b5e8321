#include <vector>

#include "aggregation.h"
#include "kernels/cuda_backend.h"
#include "kernels/kernels.h"
#include "ramet/aggregate_table.h"
#include "ramet/error.h"

namespace ramet {
namespace {

void require_on(int device, const Array& array, const char* what) {
  if (array.device != device || device == kHost)
    throw_invalid(what, " is ", array.describe(), ", expected an array of the device of out");
}

void require_on_device_of(const Array& out,
                          const Array& indptr,
                          const Array& indices,
                          const Array* weights) {
  require_on(out.device, indptr, "indptr");
  require_on(out.device, indices, "indices");
  if (weights != nullptr) require_on(out.device, *weights, "weights");
}

void check_edges(const Array& indptr, const Array& indices, int64_t num_dst) {
  if (indptr.dtype != DType::kInt64 || indptr.rows() != num_dst + 1)
    throw_invalid("indptr is ", indptr.describe(), ", expected int64[", num_dst + 1, "]");
  if (indices.dtype != DType::kInt32)
    throw_invalid("indices are ", indices.describe(), ", expected int32");
}

CudaEdgeSumArgs edge_sums(const Array& indptr,
                          const Array& indices,
                          const Array& rows,
                          const Array* weights,
                          const Array& out) {
  return {.indptr = static_cast<const int64_t*>(indptr.data),
          .indices = static_cast<const int32_t*>(indices.data),
          .num_dst = out.rows(),
          .num_edges = indices.rows(),
          .x = rows.data,
          .dtype = rows.dtype,
          .num_rows = rows.rows(),
          .width = width_of(rows),
          .weights = weights == nullptr ? nullptr : static_cast<const float*>(weights->data),
          .out = out.data,
          .out_dtype = out.dtype};
}

}  // namespace

void sum_on_device(const Array& indptr,
                   const Array& indices,
                   const Array& x,
                   const Array* weights,
                   const Array& out,
                   CudaStreamHandle stream) {
  check_edges(indptr, indices, out.rows());
  if (row_type(x, "x") == RowType::kFloat64) throw_invalid("x is float64, expected narrower rows");
  if (out.dtype != DType::kFloat32 || width_of(out) != width_of(x))
    throw_invalid("out is ", out.describe(), ", expected float32 rows as wide as ", x.describe());
  require_columns_of_device(x, "x");
  const int64_t heads = heads_of({.weights = weights}, x, indices.rows());
  require_on_device_of(out, indptr, indices, weights);
  require_on(out.device, x, "x");
  CudaEdgeSumArgs args = edge_sums(indptr, indices, x, weights, out);
  args.heads = heads;
  require_cuda().sum_edges(out.device, args, stream);
}

void aggregate_table_on_device(const Array& indptr,
                               const Array& indices,
                               const CudaTable& table,
                               const Array& ids,
                               const Array& out,
                               const AggregateOptions& options,
                               CudaStreamHandle stream) {
  const Array rows = table.rows(), scale = table.scale();
  const Array* const weights = options.weights;
  static_cast<void>(table_row_type(table.table(), out));
  check_edges(indptr, indices, out.rows());
  require_columns_of_device(rows, table.table().name().c_str());
  if (options.reduce != Reduce::kSum && options.reduce != Reduce::kMean)
    throw_invalid("a device computes no maxima and minima of a table's rows");
  if (width_of(out) != width_of(rows))
    throw_invalid("out is ", out.describe(), ", expected rows as wide as ", rows.describe());
  if (ids.dtype != DType::kInt64 || ids.shape.size() != 1)
    throw_invalid("ids are ", ids.describe(), ", expected int64");
  if (weights != nullptr &&
      (weights->dtype != DType::kFloat32 || weights->shape != std::vector{indices.rows()}))
    throw_invalid("weights are ", weights->describe(), ", expected float32[", indices.rows(), "]");
  require_on_device_of(out, indptr, indices, weights);
  require_on(out.device, rows, "the table");
  require_on(out.device, ids, "ids");
  CudaEdgeSumArgs args = edge_sums(indptr, indices, rows, weights, out);
  args.ids = static_cast<const int64_t*>(ids.data);
  args.num_ids = ids.rows();
  if (table.table().has_scale()) {
    args.scale = static_cast<const float*>(scale.data);
    args.scales_rows = table.table().encoding() == Encoding::kInt8ScaledByRow;
  }
  args.is_mean = options.reduce == Reduce::kMean;
  require_cuda().sum_edges(out.device, args, stream);
}

}  // namespace ramet
