// The kernels of isa_kernels.h that consist of the loops of *_lanes.h alone, over the lanes of one
// file. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include "aggregate_lanes.h"
#include "aggregate_table_lanes.h"
#include "attention_lanes.h"
#include "decode_rows.h"
#include "edge_rows_lanes.h"
#include "floyd_lanes.h"
#include "isa_kernels.h"
#include "labor_lanes.h"
#include "update_lanes.h"
#include "weighted_lanes.h"
#include "within_lanes.h"

namespace ramet {
namespace {

template <typename L, typename Lanes, typename Attention>
IsaKernels lanes_kernels() {
  using Floats = typename Lanes::Floats;
  return {
      .aggregate = aggregate_kernels_of<Lanes>,
      .aggregate_table = table_kernels_of<Lanes>,
      .edge_rows = edge_rows_kernels_of<Lanes>,
      .attention = attention_lanes<Attention, float>(),
      .gather_streamed = nullptr,
      .decode = {decode_cached<Lanes>, decode_cached<Lanes>},
      .narrow = narrow_lanes<Lanes>,
      .floyd = floyd_lanes<L>,
      .labor = labor_lanes<L>(),
      .update = {update_row<Floats>, add_row<Floats>},
      .weighted = weighted_lanes<L>(),
      .within = within_lanes<L>(),
  };
}

}  // namespace
}  // namespace ramet
