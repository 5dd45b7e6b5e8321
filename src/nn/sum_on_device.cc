#include "aggregation.h"
#include "kernels/cuda_backend.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kMostColumns = int64_t{1} << 21;  // a grid has 65,535 warps of them in a row

void require_on(int device, const Array& array, const char* what) {
  if (array.device != device || device == kHost)
    throw_invalid(what, " is ", array.describe(), ", expected an array of the device of out");
}

void check_edges(const Array& indptr, const Array& indices, int64_t num_dst) {
  if (indptr.dtype != DType::kInt64 || indptr.rows() != num_dst + 1)
    throw_invalid("indptr is ", indptr.describe(), ", expected int64[", num_dst + 1, "]");
  if (indices.dtype != DType::kInt32)
    throw_invalid("indices are ", indices.describe(), ", expected int32");
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
  if (width_of(x) > kMostColumns)
    throw_invalid("x is ", x.describe(), ", expected at most ", kMostColumns, " elements in a row");
  const int64_t heads = heads_of({.weights = weights}, x, indices.rows());
  for (const auto& [array, what] :
       {std::pair{&indptr, "indptr"}, {&indices, "indices"}, {&x, "x"}, {weights, "weights"}})
    if (array != nullptr) require_on(out.device, *array, what);
  require_cuda().sum_edges(
      out.device,
      {.indptr = static_cast<const int64_t*>(indptr.data),
       .indices = static_cast<const int32_t*>(indices.data),
       .num_dst = out.rows(),
       .num_edges = indices.rows(),
       .x = x.data,
       .dtype = x.dtype,
       .num_rows = x.rows(),
       .width = width_of(x),
       .weights = weights == nullptr ? nullptr : static_cast<const float*>(weights->data),
       .heads = heads,
       .out = static_cast<float*>(out.data)},
      stream);
}

}  // namespace ramet
