// One lane of plain C++, for functions over a lanes type (see lanes.h): the portable twin of the
// vector lanes, from the same source.
#pragma once

#include <bit>
#include <cstdint>

namespace ramet {
namespace {

struct Scalar {
  using U64 = uint64_t;
  using F64 = double;

  static constexpr U64 fill64(uint64_t v) { return v; }
  static constexpr U64 add64(U64 a, U64 b) { return a + b; }
  template <int kBits>
  static constexpr U64 shift_left(U64 a) {
    return a << kBits;
  }
  template <int kBits>
  static constexpr U64 shift_right(U64 a) {
    return a >> kBits;
  }
  static constexpr U64 bit_and(U64 a, U64 b) { return a & b; }
  static constexpr U64 bit_xor(U64 a, U64 b) { return a ^ b; }
  static constexpr U64 fill_with_sign(U64 a) { return 0 - (a >> 63); }

  static constexpr F64 fill_f64(double v) { return v; }
  static constexpr F64 add_f64(F64 a, F64 b) { return a + b; }
  static constexpr F64 mul_f64(F64 a, F64 b) { return a * b; }
  static constexpr F64 div_f64(F64 a, F64 b) { return a / b; }
  static constexpr F64 as_f64(U64 a) { return std::bit_cast<double>(a); }
  static constexpr U64 as_u64(F64 a) { return std::bit_cast<uint64_t>(a); }
  static constexpr void load_rows_of_4(const double* table, U64 row, F64 (&out)[4]) {
    for (int i = 0; i < 4; ++i)
      out[i] = table[row + static_cast<U64>(i)];
  }
};

}  // namespace
}  // namespace ramet
