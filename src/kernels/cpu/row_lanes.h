// Vectors of a row's elements in memory, over the instructions of one file. `Floats` loads and
// stores float32, and the bits of smaller elements, which a format widens. In an unnamed namespace:
// see lanes_avx2.h.
#pragma once

#include <cstdint>

namespace ramet {
namespace {

template <typename Floats>
struct WholeFloats : Floats {
  using typename Floats::Vector;
  static constexpr int64_t kBytes = 4;
  static Vector load(const char* p) { return Floats::load(reinterpret_cast<const float*>(p)); }
  static void store(char* p, Vector v) { Floats::store(reinterpret_cast<float*>(p), v); }
  static void stream(char* p, Vector v) { Floats::stream(reinterpret_cast<float*>(p), v); }
};

// Elements of 16 bits.
template <typename Floats, typename Format>
struct Halves : Floats {
  using typename Floats::Vector;
  static constexpr int64_t kBytes = 2;
  static Vector load(const char* p) { return Format::widen(Floats::load_halves(p)); }
  static void store(char* p, Vector v) { Floats::store_halves(p, Format::narrow(v)); }
  static void stream(char* p, Vector v) { Floats::stream_halves(p, Format::narrow(v)); }
};

// Elements of 8 bits, which are loaded alone.
template <typename Floats>
struct Bytes : Floats {
  static constexpr int64_t kBytes = 1;
  static typename Floats::Vector load(const char* p) { return Floats::load_bytes(p); }
};

template <typename AllFloats, typename Doubles, typename BFloat16Format, typename Float16Format>
struct RowLanes {
  using Floats = AllFloats;
  using Float32 = WholeFloats<Floats>;
  using Float64 = Doubles;
  using BFloat16 = Halves<Floats, BFloat16Format>;
  using Float16 = Halves<Floats, Float16Format>;
  using Int8 = Bytes<Floats>;
};

}  // namespace
}  // namespace ramet
