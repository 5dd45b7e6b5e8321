#include "aggregate.h"

#include <type_traits>

#include "aggregate_lanes.h"
#include "isa_kernels.h"
#include "row_lanes_plain.h"

namespace ramet {
namespace {

// The best of those whose lanes fit a head; `of_type` gives a set's.
template <typename OfType, typename Fits>
AggregateKernel best_kernel(AggregateKernels best, OfType of_type, Fits fits) {
  for (const Isa set : kIsas) {
    if (set > isa()) break;
    const AggregateKernels kernels = of_type(isa_kernels(set));
    if (fits(kernels.lanes)) best = kernels;
  }
  return best.aggregate;
}

template <typename Type>
auto of_type(Type type) {
  return [type](const IsaKernels& kernels) {
    if constexpr (std::is_same_v<Type, RowType>)
      return kernels.aggregate(type);
    else
      return kernels.aggregate_table(type);
  };
}

// Vectors that a head is no shorter than.
auto no_longer_than(int64_t head_width) {
  return [head_width](int64_t lanes) { return lanes <= head_width; };
}

}  // namespace

AggregateKernels aggregate_single(RowType type) {
  return aggregate_kernels_of<PlainLanes<1>>(type);
}

AggregateKernels aggregate_portable(RowType type) {
  return aggregate_kernels_of<PlainLanes<4>>(type);
}

AggregateKernel aggregate_kernel(RowType type, int64_t head_width) {
  return best_kernel(aggregate_single(type), of_type(type), no_longer_than(head_width));
}

AggregateKernel aggregate_kernel(TableRowType type, int64_t head_width) {
  return best_kernel(aggregate_single(type), of_type(type), no_longer_than(head_width));
}

AggregateKernel adding_kernel(RowType type, int64_t head_width) {
  return best_kernel(aggregate_single(type), of_type(type),
                     [head_width](int64_t lanes) { return head_width % lanes == 0; });
}

}  // namespace ramet
