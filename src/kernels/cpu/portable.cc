// What every processor runs, and the definition of the other sets' bits.
#include "isa_kernels.h"

namespace ramet {

const IsaKernels& portable_kernels() {
  static const IsaKernels kernels{
      .aggregate = aggregate_portable,
      .aggregate_table = aggregate_portable,
      .edge_rows = edge_rows_portable,
      .attention = attention_portable(),
      .gather_streamed = nullptr,
      .decode = {gather_decoded_portable, gather_decoded_portable},
      .narrow = narrow_portable,
      .floyd = floyd_portable,
      .labor = labor_portable(),
      .update = update_portable(),
      .weighted = weighted_portable(),
      .within = within_portable(),
  };
  return kernels;
}

}  // namespace ramet
