// Which streaming gather an x86-64 processor gets.
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

}  // namespace ramet
