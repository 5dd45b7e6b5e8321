// Which vector gathers an x86-64 processor gets.
#include "gather.h"
#include "ramet/isa.h"

namespace ramet {

GatherRows streaming_gather() {
  switch (isa()) {
    case Isa::kAvx512:
      return gather_streamed_avx512;
    case Isa::kAvx2:
      return gather_streamed_avx2;
    case Isa::kPortable:
      return nullptr;
  }
  return nullptr;
}

DecodingGathers decoding_gathers() {
  switch (isa()) {
    case Isa::kAvx512:
      return {decode_cached_avx512, decode_streamed_avx512};
    case Isa::kAvx2:
      return {decode_cached_avx2, decode_streamed_avx2};
    case Isa::kPortable:
      break;
  }
  return {gather_decoded_portable, gather_decoded_portable};
}

Narrow best_narrow() {
  return isa() == Isa::kPortable ? narrow_portable : narrow_avx2;
}

}  // namespace ramet
