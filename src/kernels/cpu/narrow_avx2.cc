// Float32 as bfloat16, 8 elements at a time.
#include "gather.h"
#include "row_lanes_avx2.h"

namespace ramet {

void narrow_avx2(const float* values, int64_t count, uint16_t* out) {
  constexpr int64_t kLanes = Avx2BFloat16::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    Avx2BFloat16::store(reinterpret_cast<char*>(out + i), _mm256_loadu_ps(values + i));
  narrow_portable(values + i, count - i, out + i);
}

}  // namespace ramet
