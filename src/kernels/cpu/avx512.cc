// The kernels by AVX-512 F, BW, DQ and VL: the loops are those of *_lanes.h. For what this file may
// call see avx2.cc.
#include "aggregate_lanes.h"
#include "aggregate_table_lanes.h"
#include "attention_avx512.h"
#include "decode_avx512.h"
#include "edge_rows_lanes.h"
#include "floyd_lanes.h"
#include "gather_avx512.h"
#include "isa_kernels.h"
#include "labor_lanes.h"
#include "lanes_avx512.h"
#include "row_lanes_avx512.h"
#include "update_avx512.h"
#include "weighted_lanes.h"
#include "within_lanes.h"

namespace ramet {
namespace {

AggregateKernels aggregate(RowType type) {
  return aggregate_kernels_of<Avx512Float32, Avx512Float64, Avx512BFloat16, Avx512Float16>(type);
}

AggregateKernels aggregate_table(TableRowType type) {
  return table_kernels_of<Avx512Float32, Avx512BFloat16, Avx512Float16, Avx512Int8>(type);
}

EdgeRowsKernels edge_rows(RowType type) {
  return edge_rows_kernels_of<Avx512Float32, Avx512Float64, Avx512BFloat16, Avx512Float16>(type);
}

}  // namespace

const IsaKernels& avx512_kernels() {
  static const IsaKernels kernels{
      .aggregate = aggregate,
      .aggregate_table = aggregate_table,
      .edge_rows = edge_rows,
      .attention = attention_lanes<Avx512Attention, float>(),
      .gather_streamed = gather_streamed_avx512,
      .decode = {decode_cached_avx512, decode_streamed_avx512},
      .narrow = avx2_kernels().narrow,
      .floyd = floyd_lanes<Avx512>,
      .labor = labor_lanes<Avx512>(),
      .update = {update_row<Avx512Update>, add_row<Avx512Update>},
      .weighted = weighted_lanes<Avx512>(),
      .within = within_lanes<Avx512>(),
  };
  return kernels;
}

}  // namespace ramet
