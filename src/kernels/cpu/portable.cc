// Stands in for the vector kernels where the build's processor has none of these instructions.
#include "aggregate.h"
#include "attention.h"
#include "edge_rows.h"
#include "floyd.h"
#include "gather.h"
#include "labor_scan.h"
#include "update.h"

namespace ramet {

AggregateKernels aggregate_avx2(RowType) {
  return {};
}

AggregateKernels aggregate_avx2(TableRowType) {
  return {};
}

AggregateKernels aggregate_avx512(RowType) {
  return {};
}

AggregateKernels aggregate_avx512(TableRowType) {
  return {};
}

EdgeRowsKernels edge_rows_avx2(RowType) {
  return {};
}

EdgeRowsKernels edge_rows_avx512(RowType) {
  return {};
}

GatherRows streaming_gather() {
  return nullptr;
}

DecodingGathers decoding_gathers() {
  return {gather_decoded_portable, gather_decoded_portable};
}

Narrow best_narrow() {
  return narrow_portable;
}

FloydKernel floyd_avx2() {
  return nullptr;
}

FloydKernel floyd_avx512() {
  return nullptr;
}

LaborKernel labor_avx2() {
  return {};
}

LaborKernel labor_avx512() {
  return {};
}

AttentionKernels<float> attention_avx2() {
  return {};
}

AttentionKernels<float> attention_avx512() {
  return {};
}

UpdateKernels update_avx2() {
  return {};
}

UpdateKernels update_avx512() {
  return {};
}

}  // namespace ramet
