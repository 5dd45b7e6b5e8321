// The kernels by NEON: the loops are those of *_lanes.h. Every processor of aarch64 has it, so this
// file needs no options and may call what others include.
#include "aggregate_lanes.h"
#include "aggregate_table_lanes.h"
#include "attention_neon.h"
#include "decode_neon.h"
#include "edge_rows_lanes.h"
#include "floyd_lanes.h"
#include "isa_kernels.h"
#include "labor_lanes.h"
#include "lanes_neon.h"
#include "row_lanes_neon.h"
#include "update_neon.h"
#include "weighted_lanes.h"
#include "within_lanes.h"

namespace ramet {
namespace {

AggregateKernels aggregate(RowType type) {
  return aggregate_kernels_of<NeonFloat32, NeonFloat64, NeonBFloat16, NeonFloat16>(type);
}

AggregateKernels aggregate_table(TableRowType type) {
  return table_kernels_of<NeonFloat32, NeonBFloat16, NeonFloat16, NeonInt8>(type);
}

EdgeRowsKernels edge_rows(RowType type) {
  return edge_rows_kernels_of<NeonFloat32, NeonFloat64, NeonBFloat16, NeonFloat16>(type);
}

// Float32 as bfloat16, 4 elements at a time.
void narrow(const float* values, int64_t count, uint16_t* out) {
  constexpr int64_t kStep = NeonBFloat16::kLanes;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    NeonBFloat16::store(reinterpret_cast<char*>(out + i), vld1q_f32(values + i));
  narrow_portable(values + i, count - i, out + i);
}

}  // namespace

const IsaKernels& neon_kernels() {
  static const IsaKernels kernels{
      .aggregate = aggregate,
      .aggregate_table = aggregate_table,
      .edge_rows = edge_rows,
      .attention = attention_lanes<NeonAttention, float>(),
      .gather_streamed = nullptr,
      .decode = {decode_cached<NeonDecode>, decode_cached<NeonDecode>},
      .narrow = narrow,
      .floyd = floyd_lanes<Neon>,
      .labor = labor_lanes<Neon>(),
      .update = {update_row<NeonUpdate>, add_row<NeonUpdate>},
      .weighted = weighted_lanes<Neon>(),
      .within = within_lanes<Neon>(),
  };
  return kernels;
}

}  // namespace ramet
