#include "aggregate.h"
#include "aggregate_table_lanes.h"
#include "row_lanes_plain.h"

namespace ramet {
namespace {

template <int64_t kCount>
struct PlainInt8 : Plain<float, kCount> {
  using typename Plain<float, kCount>::Vector;
  static constexpr int64_t kBytes = 1;
  static Vector load(const char* p) {
    int8_t values[kCount];
    std::memcpy(values, p, sizeof values);
    Vector result;
    for (int64_t i = 0; i < kCount; ++i)
      result.v[i] = static_cast<float>(values[i]);
    return result;
  }
};

template <int64_t kCount>
AggregateKernels plain_table_kernels(TableRowType type) {
  return table_kernels_of<PlainFull<float, kCount>, PlainBFloat16<kCount>, PlainFloat16<kCount>,
                          PlainInt8<kCount>>(type);
}

}  // namespace

AggregateKernels aggregate_single(TableRowType type) {
  return plain_table_kernels<1>(type);
}

AggregateKernels aggregate_portable(TableRowType type) {
  return plain_table_kernels<4>(type);
}

}  // namespace ramet
