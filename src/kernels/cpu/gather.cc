// Gather: copy scattered rows of a table into one contiguous output.
//
// An ordinary store to a line that is in no cache reads it first, which costs a third of a gather's
// memory traffic. Streaming stores save that, but leave the output in memory, where its reader must
// fetch it: they win where the caches could not have held it anyway.
#include "gather.h"

#include <algorithm>

#include "base/narrow.h"
#include "decode_rows.h"
#include "isa_kernels.h"

namespace ramet {
namespace {

// Where gathering and then reading the output takes the same time with both kinds of stores. A
// constant, since the sizes that processors report mislead: their last cache is shared, in virtual
// machines with strangers.
constexpr int64_t kStreamedBytes = int64_t{32} << 20;

int64_t gather_rows(const GatherArgs& args) {
  const GatherRows streamed = best_kernels().gather_streamed;
  const int64_t bytes = std::max(args.output_bytes, args.num_ids * args.row_bytes);
  return (streamed != nullptr && bytes >= kStreamedBytes ? streamed : gather_cached)(args);
}

int64_t gather_decoded(const DecodeArgs& args) {
  const DecodingGathers& best = best_kernels().decode;
  const int64_t row_bytes = row_elements(args) * int64_t{sizeof(float)};
  const int64_t bytes = std::max(args.rows.output_bytes, args.rows.num_ids * row_bytes);
  return (bytes >= kStreamedBytes ? best.streamed : best.cached)(args);
}

void narrow_best(const float* values, int64_t count, uint16_t* out) {
  best_kernels().narrow(values, count, out);
}

constexpr Kernels kCpuKernels{"cpu", gather_rows, gather_decoded, narrow_best};

}  // namespace

void narrow_portable(const float* values, int64_t count, uint16_t* out) {
  narrow_row(values, count, DType::kBFloat16, out);
}

const Kernels* cpu_kernels() {
  (void)isa();  // may throw, which a kernel must not
  return &kCpuKernels;
}

}  // namespace ramet
