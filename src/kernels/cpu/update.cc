#include "update.h"

#include "ramet/isa.h"
#include "update_lanes.h"

namespace ramet {

UpdateKernels update_portable() {
  return {update_row<One>, add_row<One>};
}

UpdateKernels update_kernels() {
  switch (isa()) {
    case Isa::kAvx512:
      return update_avx512();
    case Isa::kAvx2:
      return update_avx2();
    case Isa::kPortable:
      break;
  }
  return update_portable();
}

}  // namespace ramet
