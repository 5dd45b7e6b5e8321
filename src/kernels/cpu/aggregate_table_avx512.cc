#include "aggregate.h"
#include "aggregate_table_lanes.h"
#include "row_lanes_avx512.h"

namespace ramet {
namespace {

struct Avx512Int8 : Avx512Floats {
  static constexpr int64_t kBytes = 1;
  static Vector load(const char* p) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(values));
  }
};

}  // namespace

AggregateKernels aggregate_avx512(TableRowType type) {
  return table_kernels_of<Avx512Float32, Avx512BFloat16, Avx512Float16, Avx512Int8>(type);
}

}  // namespace ramet
