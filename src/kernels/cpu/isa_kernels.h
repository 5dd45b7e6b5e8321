// The kernels that exist once per instruction set, as a struct of function pointers that the file
// named for the set fills: portable.cc, avx2.cc, avx512.cc, neon.cc. All give the same bits.
#pragma once

#include "aggregate.h"
#include "attention.h"
#include "edge_rows.h"
#include "floyd.h"
#include "gather.h"
#include "labor_scan.h"
#include "ramet/isa.h"
#include "update.h"
#include "weighted_scan.h"
#include "within.h"

namespace ramet {

struct IsaKernels {
  AggregateKernels (*aggregate)(RowType);
  AggregateKernels (*aggregate_table)(TableRowType);
  EdgeRowsKernels (*edge_rows)(RowType);
  AttentionKernels<float> attention;
  GatherRows gather_streamed;  // past the caches; nullptr where that gains nothing
  DecodingGathers decode;
  Narrow narrow;
  FloydKernel floyd;
  LaborKernel labor;
  UpdateKernels update;
  WeightedKernel weighted;
  Within within;
};

// Of a set that this machine has: up to isa().
[[nodiscard]] const IsaKernels& isa_kernels(Isa set);

// The best that this machine's instructions offer.
[[nodiscard]] inline const IsaKernels& best_kernels() {
  return isa_kernels(isa());
}

[[nodiscard]] const IsaKernels& portable_kernels();
[[nodiscard]] const IsaKernels& avx2_kernels();    // where RAMET_AVX is defined
[[nodiscard]] const IsaKernels& avx512_kernels();  // as well
[[nodiscard]] const IsaKernels& neon_kernels();    // where RAMET_NEON is defined

}  // namespace ramet
