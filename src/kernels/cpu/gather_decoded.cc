// Gather that decodes, one element at a time, with ordinary stores: what the vector files fall back
// on, and the definition of their bits.
#include <bit>
#include <cstring>

#include "base/half.h"
#include "decode_rows.h"
#include "gather.h"
#include "update_lanes.h"

namespace ramet {
namespace {

template <typename T>
T element(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

struct Scalar {
  using Floats = One;
  struct Float16 {
    static float load(const char* at) { return from_half(element<uint16_t>(at)); }
  };
  struct BFloat16 {
    static float load(const char* at) {
      return std::bit_cast<float>(uint32_t{element<uint16_t>(at)} << 16);
    }
  };
  struct Int8 {
    static float load(const char* at) { return static_cast<float>(element<int8_t>(at)); }
  };
};

}  // namespace

int64_t gather_decoded_portable(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  return with_decoder<Scalar>(args, [&](auto decoder) {
    return for_each_decoded(
        args, kLongestRequested, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i < width; ++i)
            out[i] = row.at(i);
          out += width;
        });
  });
}

}  // namespace ramet
