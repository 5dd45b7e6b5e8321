// The kernels by AVX-512 F, BW, DQ and VL: the loops are those of *_lanes.h. For what this file may
// call see avx2.cc.
#include "attention_avx512.h"
#include "decode_avx512.h"
#include "gather_avx512.h"
#include "isa_lanes.h"
#include "lanes_avx512.h"
#include "row_lanes_avx512.h"

namespace ramet {

const IsaKernels& avx512_kernels() {
  static const IsaKernels kernels = [] {
    IsaKernels all = lanes_kernels<Avx512, Avx512Lanes, Avx512Attention>();
    all.gather_streamed = gather_streamed_avx512;
    all.decode.streamed = decode_streamed_avx512;
    all.narrow = avx2_kernels().narrow;
    return all;
  }();
  return kernels;
}

}  // namespace ramet
