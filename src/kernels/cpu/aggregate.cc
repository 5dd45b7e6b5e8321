#include "aggregate.h"

#include "aggregate_lanes.h"
#include "isa_kernels.h"
#include "row_lanes_plain.h"

namespace ramet {
namespace {

template <int64_t kCount>
AggregateKernels plain_row_kernels(RowType type) {
  return aggregate_kernels_of<PlainFull<float, kCount>, PlainFull<double, kCount>,
                              PlainBFloat16<kCount>, PlainFloat16<kCount>>(type);
}

// The best of those for vectors that a head is no shorter than; `of_type` gives a set's.
template <typename OfType>
AggregateKernel best_kernel(AggregateKernels best, int64_t head_width, OfType of_type) {
  for (const Isa set : kIsas) {
    if (set > isa()) break;
    const AggregateKernels kernels = of_type(isa_kernels(set));
    if (kernels.lanes <= head_width) best = kernels;
  }
  return best.aggregate;
}

}  // namespace

AggregateKernels aggregate_single(RowType type) {
  return plain_row_kernels<1>(type);
}

AggregateKernels aggregate_portable(RowType type) {
  return plain_row_kernels<4>(type);
}

AggregateKernel aggregate_kernel(RowType type, int64_t head_width) {
  return best_kernel(aggregate_single(type), head_width,
                     [type](const IsaKernels& kernels) { return kernels.aggregate(type); });
}

AggregateKernel aggregate_kernel(TableRowType type, int64_t head_width) {
  return best_kernel(aggregate_single(type), head_width,
                     [type](const IsaKernels& kernels) { return kernels.aggregate_table(type); });
}

}  // namespace ramet
