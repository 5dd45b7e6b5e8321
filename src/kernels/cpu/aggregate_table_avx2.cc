#include "aggregate.h"
#include "aggregate_table_lanes.h"
#include "row_lanes_avx2.h"

namespace ramet {
namespace {

struct Avx2Int8 : Avx2Floats {
  static constexpr int64_t kBytes = 1;
  static Vector load(const char* p) {
    const __m128i values = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(values));
  }
};

}  // namespace

AggregateKernels aggregate_avx2(TableRowType type) {
  return table_kernels_of<Avx2Float32, Avx2BFloat16, Avx2Float16, Avx2Int8>(type);
}

}  // namespace ramet
