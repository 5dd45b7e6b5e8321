// The gather that decodes to float32: gather_kernel.cuh with units of up to four elements, whose
// results are one store of 16 bytes.
//
// The bits are those of the CPU's gather_decoded.cc, NaNs included: halves are converted by
// integers, since the hardware's conversion gives every NaN the same bits, and scaling is one
// multiplication (scales are finite, so it makes no NaN).
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/gather_kernel.cuh"
#include "kernels/cuda/rows.h"

namespace ramet {
namespace {

// An element type has its Bits, is made for a row from its scales (nullptr: there is no row), and
// gives the float32 that the bits in a column stand for.
struct Float16 {
  using Bits = unsigned short;
  Float16() = default;
  __device__ explicit Float16(const float*) {}
  // Halves below 2^-14 have no implicit one, and their 10 bits count in units of 2^-24; infinity
  // stays, and a NaN keeps its bits and becomes quiet.
  __device__ float operator()(Bits half, int64_t) const {
    constexpr unsigned kInfinity = 0x7C00, kLeastNormal = 0x0400, kQuiet = 1u << 22;
    const unsigned sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
    if (magnitude < kLeastNormal)
      return __uint_as_float(sign | __float_as_uint(static_cast<float>(magnitude) * 0x1p-24f));
    const unsigned rebias = magnitude < kInfinity ? (127u - 15u) << 23 : (255u - 31u) << 23;
    const unsigned quiet = magnitude > kInfinity ? kQuiet : 0;
    return __uint_as_float(sign | ((magnitude << 13) + rebias) | quiet);
  }
};

struct BFloat16 {
  using Bits = unsigned short;
  BFloat16() = default;
  __device__ explicit BFloat16(const float*) {}
  __device__ float operator()(Bits bits, int64_t) const {
    return __uint_as_float(unsigned{bits} << 16);
  }
};

struct Int8ScaledByRow {
  using Bits = unsigned char;
  Int8ScaledByRow() = default;
  __device__ explicit Int8ScaledByRow(const float* its_scale)
      : scale(its_scale == nullptr ? 0 : __ldg(its_scale)) {}
  __device__ float operator()(Bits bits, int64_t) const {
    return static_cast<float>(static_cast<signed char>(bits)) * scale;
  }
  float scale;
};

struct Int8ScaledByColumn {
  using Bits = unsigned char;
  Int8ScaledByColumn() = default;
  __device__ explicit Int8ScaledByColumn(const float* its_scales) : scales(its_scales) {}
  __device__ float operator()(Bits bits, int64_t column) const {
    return static_cast<float>(static_cast<signed char>(bits)) * __ldg(scales + column);
  }
  const float* scales;
};

template <int kCount>
struct alignas(4 * kCount) Floats {
  float at[kCount];
};

// `kCount` elements that fill a Word.
template <typename Element, typename Word>
struct DecodedUnit {
  using Bits = typename Element::Bits;
  using Value = float;
  static constexpr int kBits = 8 * sizeof(Bits);
  static constexpr int kCount = sizeof(Word) / sizeof(Bits);
  using Source = Word;
  using Result = Floats<kCount>;

  DecodedUnit() = default;
  __device__ explicit DecodedUnit(const float* scale) : element(scale) {}
  __device__ Result operator()(Word word, int64_t column) const {
    Result result;
    for (int e = 0; e < kCount; ++e)
      result.at[e] = one(static_cast<Bits>(word >> (e * kBits)), column + e);
    return result;
  }
  __device__ float one(Bits bits, int64_t column) const { return element(bits, column); }
  Element element;
};

template <typename Element>
void gather_halves(const GatherCall& call) {
  if (call.access.unit == 8) return launch_gather<DecodedUnit<Element, unsigned long long>>(call);
  if (call.access.unit == 4) return launch_gather<DecodedUnit<Element, unsigned>>(call);
  launch_gather<DecodedUnit<Element, unsigned short>>(call);
}

template <typename Element>
void gather_bytes(const GatherCall& call) {
  if (call.access.unit == 4) return launch_gather<DecodedUnit<Element, unsigned>>(call);
  if (call.access.unit == 2) return launch_gather<DecodedUnit<Element, unsigned short>>(call);
  launch_gather<DecodedUnit<Element, unsigned char>>(call);
}

}  // namespace

void gather_decoded_cuda(int device, const CudaDecodeArgs& args, void* stream) {
  const CudaGatherArgs& rows = args.rows;
  if (rows.num_ids == 0) return;
  const DeviceScope scope(device);
  const bool halves = args.encoding == Encoding::kFloat16 || args.encoding == Encoding::kBFloat16;
  const int element_bytes = halves ? 2 : 1;
  // A unit of the output is 4 / element_bytes times as long, and so must be what it starts at.
  const uint64_t out = reinterpret_cast<uint64_t>(rows.out) / (4 / element_bytes);
  const RowAccess access = gather_access(reinterpret_cast<uint64_t>(rows.table), out,
                                         rows.row_bytes, 4 * element_bytes, rows.shift);
  const RowScales scales{args.scale, args.encoding == Encoding::kInt8ScaledByRow};
  const GatherCall call{"gather_decoded", device, rows, scales, access, stream};
  switch (args.encoding) {
    case Encoding::kFloat16:
      return gather_halves<Float16>(call);
    case Encoding::kBFloat16:
      return gather_halves<BFloat16>(call);
    case Encoding::kInt8ScaledByRow:
      return gather_bytes<Int8ScaledByRow>(call);
    case Encoding::kInt8ScaledByColumn:
      return gather_bytes<Int8ScaledByColumn>(call);
  }
}

}  // namespace ramet
