// The kernels by NEON: the loops are those of *_lanes.h. Every processor of aarch64 has it, so this
// file needs no options and may call what others include.
#include "attention_neon.h"
#include "isa_lanes.h"
#include "lanes_neon.h"
#include "row_lanes_neon.h"

namespace ramet {

const IsaKernels& neon_kernels() {
  static const IsaKernels kernels = lanes_kernels<Neon, NeonLanes, NeonAttention>();
  return kernels;
}

}  // namespace ramet
