#include "ramet/aggregate_table.h"

#include <span>

#include "aggregation.h"
#include "kernels/kernels.h"
#include "ramet/error.h"

namespace ramet {
namespace {

TableRowType decoded_type(const Table& table) {
  switch (table.encoding()) {
    case Encoding::kFloat16:
      return TableRowType::kDecodedFloat16;
    case Encoding::kBFloat16:
      return TableRowType::kDecodedBFloat16;
    case Encoding::kInt8ScaledByRow:
      return TableRowType::kInt8ScaledByRow;
    case Encoding::kInt8ScaledByColumn:
      return TableRowType::kInt8ScaledByColumn;
  }
  throw_invalid(table.name(), " is ", table.rows().describe());
}

void check_ids(const Array& ids, int64_t num_src, const Table& table) {
  if (ids.dtype != DType::kInt64 || ids.shape.size() != 1 || ids.rows() < num_src)
    throw_invalid("ids are ", ids.describe(), ", expected int64[", num_src, "] or more");
  const auto rows = static_cast<uint64_t>(table.rows().rows());
  const auto sources = ids.as<int64_t>().first(static_cast<size_t>(num_src));
  for (size_t i = 0; i < sources.size(); ++i) {
    if (static_cast<uint64_t>(sources[i]) < rows) continue;
    throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", sources[i], " is outside the ", rows,
                " rows of ", table.name());
  }
}

}  // namespace

TableRowType table_row_type(const Table& table, const Array& out) {
  const Array& rows = table.rows();
  if (out.dtype == rows.dtype) {
    if (out.dtype == DType::kFloat32) return TableRowType::kFloat32;
    if (out.dtype == DType::kFloat16) return TableRowType::kFloat16;
    if (out.dtype == DType::kBFloat16) return TableRowType::kBFloat16;
  }
  if (out.dtype != DType::kFloat32 || !table.is_encoded())
    throw_invalid("out is ", out.describe(), ", which sums of rows of ", table.name(), ", ",
                  rows.describe(), ", are not");
  return decoded_type(table);
}

void aggregate_table(const BlockEdges& edges,
                     const Table& table,
                     const Array& ids,
                     const Array& out,
                     const AggregateOptions& options) {
  const TableRowType type = table_row_type(table, out);
  if (table.rows().device != kHost)
    throw_invalid(table.name(), " lies on device ", table.rows().device,
                  ", whose rows the host cannot aggregate: gather them");
  const int64_t width = width_of(table.rows());
  if (out.rows() != edges.num_dst() || width_of(out) != width)
    throw_invalid("out is ", out.describe(), ", expected ", edges.num_dst(), " rows of ", width,
                  " elements");
  if (!out.writable) throw_invalid("out is read-only");
  check_ids(ids, edges.num_src(), table);
  const int64_t heads = heads_of(options, out, edges.num_edges());
  if (width == 0 || out.rows() == 0) return;
  const AggregateArgs args{.indptr = static_cast<const int64_t*>(edges.indptr().data),
                           .indices = static_cast<const int32_t*>(edges.indices().data),
                           .num_edges = edges.num_edges(),
                           .rows = table.rows().data,
                           .num_rows = edges.num_src(),
                           .width = width,
                           .ids = static_cast<const int64_t*>(ids.data),
                           .scale = static_cast<const float*>(table.scale().data),
                           .weights = options.weights == nullptr ? nullptr : options.weights->data,
                           .heads = heads,
                           .reduction = reduction_of(options.reduce),
                           .out = out.data,
                           .streamed = is_streamed(out, heads)};
  if (run_kernel(args, aggregate_kernel(type, width / heads), out, options.threads)) return;
  edges.check();
  throw_invalid("edges were written to during an aggregation");
}

}  // namespace ramet
