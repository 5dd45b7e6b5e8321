// The kernels by AVX2 and F16C: the loops are those of *_lanes.h. This file calls no inline
// function of a header that others include, too: the linker would keep one copy, and a machine
// without these instructions might get this one.
#include "attention_avx2.h"
#include "decode_avx2.h"
#include "gather_avx2.h"
#include "isa_lanes.h"
#include "lanes_avx2.h"
#include "row_lanes_avx2.h"

namespace ramet {

const IsaKernels& avx2_kernels() {
  static const IsaKernels kernels = [] {
    IsaKernels all = lanes_kernels<Avx2, Avx2Lanes, Avx2Attention>();
    all.gather_streamed = gather_streamed_avx2;
    all.decode.streamed = decode_streamed_avx2;
    return all;
  }();
  return kernels;
}

}  // namespace ramet
