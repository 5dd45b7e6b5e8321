// The kernels by AVX2 and F16C: the loops are those of *_lanes.h. This file calls no inline
// function of a header that others include, too: the linker would keep one copy, and a machine
// without these instructions might get this one.
#include "aggregate_lanes.h"
#include "aggregate_table_lanes.h"
#include "attention_avx2.h"
#include "decode_avx2.h"
#include "edge_rows_lanes.h"
#include "floyd_lanes.h"
#include "gather_avx2.h"
#include "isa_kernels.h"
#include "labor_lanes.h"
#include "lanes_avx2.h"
#include "row_lanes_avx2.h"
#include "update_avx2.h"
#include "weighted_lanes.h"
#include "within_lanes.h"

namespace ramet {
namespace {

AggregateKernels aggregate(RowType type) {
  return aggregate_kernels_of<Avx2Float32, Avx2Float64, Avx2BFloat16, Avx2Float16>(type);
}

AggregateKernels aggregate_table(TableRowType type) {
  return table_kernels_of<Avx2Float32, Avx2BFloat16, Avx2Float16, Avx2Int8>(type);
}

EdgeRowsKernels edge_rows(RowType type) {
  return edge_rows_kernels_of<Avx2Float32, Avx2Float64, Avx2BFloat16, Avx2Float16>(type);
}

// Float32 as bfloat16, 8 elements at a time.
void narrow(const float* values, int64_t count, uint16_t* out) {
  constexpr int64_t kStep = Avx2BFloat16::kLanes;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    Avx2BFloat16::store(reinterpret_cast<char*>(out + i), _mm256_loadu_ps(values + i));
  narrow_portable(values + i, count - i, out + i);
}

}  // namespace

const IsaKernels& avx2_kernels() {
  static const IsaKernels kernels{
      .aggregate = aggregate,
      .aggregate_table = aggregate_table,
      .edge_rows = edge_rows,
      .attention = attention_lanes<Avx2Attention, float>(),
      .gather_streamed = gather_streamed_avx2,
      .decode = {decode_cached_avx2, decode_streamed_avx2},
      .narrow = narrow,
      .floyd = floyd_lanes<Avx2>,
      .labor = labor_lanes<Avx2>(),
      .update = {update_row<Avx2Update>, add_row<Avx2Update>},
      .weighted = weighted_lanes<Avx2>(),
      .within = within_lanes<Avx2>(),
  };
  return kernels;
}

}  // namespace ramet
