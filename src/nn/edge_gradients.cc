// Gradients of weights, and of maxima and minima.
#include "aggregation.h"
#include "kernels/cpu/edge_rows.h"
#include "ramet/aggregate.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// The edges as a kernel wants them, for rows like these.
EdgeRowsArgs args_of(const Array& indptr,
                     const Array& indices,
                     int64_t num_rows,
                     const Array& rows) {
  return {.indptr = static_cast<const int64_t*>(indptr.data),
          .indices = static_cast<const int32_t*>(indices.data),
          .num_edges = indices.rows(),
          .num_rows = num_rows,
          .width = width_of(rows)};
}

void run(const BlockEdges& edges,
         const EdgeRowsArgs& args,
         EdgeRowsKernel kernel,
         int64_t num_dst,
         int64_t row_bytes,
         int threads) {
  const bool is_good =
      for_each_range(args.indptr, num_dst, args.num_edges, row_bytes, threads,
                     [&](int64_t begin, int64_t end) { return kernel(args, begin, end); });
  if (is_good) return;
  edges.check();
  throw_invalid("edges were written to during an aggregation");
}

// Rows beside others, of the same type and width.
void check_beside(const Array& rows, const char* name, int64_t least, const Array& others) {
  if (rows.rows() < least)
    throw_invalid(name, " has ", rows.rows(), " rows, expected at least ", least);
  if (rows.dtype != others.dtype || width_of(rows) != width_of(others))
    throw_invalid(name, " is ", rows.describe(), ", beside ", others.describe());
}

}  // namespace

void edge_dots(const BlockEdges& edges,
               const Array& dst_rows,
               const Array& src_rows,
               const Array& out,
               const EdgeDotsOptions& options) {
  const RowType type = row_type(dst_rows, "dst_rows");
  check_beside(dst_rows, "dst_rows", edges.num_dst(), dst_rows);
  check_beside(src_rows, "src_rows", edges.num_src(), dst_rows);
  if (!out.writable) throw_invalid("out is read-only");
  const int64_t heads = heads_of({.weights = &out}, dst_rows, edges.num_edges());
  EdgeRowsArgs args = args_of(edges.indptr(), edges.indices(), edges.num_src(), dst_rows);
  if (args.num_edges == 0) return;
  args.heads = heads;
  args.is_mean = options.is_mean;
  args.own = dst_rows.data;
  args.rows = src_rows.data;
  args.out = out.data;
  run(edges, args, edge_rows_kernels(type).dots, edges.num_dst(), dst_rows.row_bytes(),
      options.threads);
}

void share_extremes(const BlockEdges& edges,
                    const Array& x,
                    const Array& reduced,
                    const Array& grad,
                    const Array& out,
                    int threads) {
  const RowType type = row_type(x, "x");
  check_beside(x, "x", edges.num_src(), x);
  check_beside(reduced, "reduced", edges.num_dst(), x);
  check_rows(grad, "grad", edges.num_dst(), out, edges.num_dst());
  check_beside(grad, "grad", edges.num_dst(), x);
  EdgeRowsArgs args = args_of(edges.indptr(), edges.indices(), edges.num_src(), x);
  if (args.width == 0) return;
  args.own = reduced.data;
  args.rows = x.data;
  args.second = grad.data;
  args.out = out.data;
  run(edges, args, edge_rows_kernels(type, args.width).ties, edges.num_dst(), x.row_bytes(),
      threads);
}

void extremes_back(const BlockEdges& edges,
                   const Array& x,
                   const Array& reduced,
                   const Array& shared,
                   const Array& out,
                   int threads) {
  const RowType type = row_type(x, "x");
  check_rows(x, "x", edges.num_src(), out, edges.num_src());
  check_beside(reduced, "reduced", edges.num_dst(), x);
  check_beside(shared, "shared", edges.num_dst(), x);
  const BlockEdges::Transposed& back = edges.transposed(threads);
  EdgeRowsArgs args = args_of(back.indptr, back.indices, edges.num_dst(), x);
  if (args.width == 0) return;
  args.own = x.data;
  args.rows = reduced.data;
  args.second = shared.data;
  args.out = out.data;
  run(edges, args, edge_rows_kernels(type, args.width).matches, edges.num_src(), x.row_bytes(),
      threads);
}

}  // namespace ramet
