// Lanes of NEON, for kernels that are written over a lanes type (see lanes.h).
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace ramet {
namespace {

// byte[mask]: where the bytes of the 32-bit lanes in `mask` lie, ascending.
struct PackedBytes {
  alignas(16) uint8_t byte[16][16] = {};
  constexpr PackedBytes() {
    for (int mask = 0; mask < 16; ++mask) {
      int size = 0;
      for (int at = 0; at < 16; ++at) {
        if ((mask >> at / 4 & 1) != 0) byte[mask][size++] = static_cast<uint8_t>(at);
      }
    }
  }
};
constexpr PackedBytes kPackedBytes;

struct Neon {
  using U32 = uint64x2_t;  // one type for lanes of both widths, as other sets have it
  using U64 = uint64x2_t;
  using F64 = float64x2_t;   // as many as of U64
  using F32 = float32x4_t;   // as many as of U32
  using Truth = uint64x2_t;  // all ones or all zeros in each lane
  static constexpr int kCount = 4;

  static U32 load(const void* p) { return vld1q_u64(static_cast<const uint64_t*>(p)); }
  static void store(void* p, U32 v) { vst1q_u64(static_cast<uint64_t*>(p), v); }
  static U32 fill32(uint32_t v) { return of32(vdupq_n_u32(v)); }
  static U64 fill64(uint64_t v) { return vdupq_n_u64(v); }

  static U32 add32(U32 a, U32 b) { return of32(vaddq_u32(as32(a), as32(b))); }
  static U32 min32(U32 a, U32 b) { return of32(vminq_u32(as32(a), as32(b))); }
  static U32 max32(U32 a, U32 b) { return of32(vmaxq_u32(as32(a), as32(b))); }
  static U64 add64(U64 a, U64 b) { return vaddq_u64(a, b); }
  static U64 mul32(U64 a, U64 b) { return vmull_u32(vmovn_u64(a), vmovn_u64(b)); }  // low halves
  static U64 mul64(U64 a, uint64_t b) {  // from 32-bit products; the high one falls out
    const uint32x4_t crossed = vrev64q_u32(vreinterpretq_u32_u64(fill64(b)));
    const U64 cross = vpaddlq_u32(vmulq_u32(as32(a), crossed));
    return vmlal_u32(shift_left<32>(cross), vmovn_u64(a), vdup_n_u32(static_cast<uint32_t>(b)));
  }

  template <int kBits>
  static U64 shift_left(U64 a) {
    return vshlq_n_u64(a, kBits);
  }
  template <int kBits>
  static U64 shift_right(U64 a) {
    return vshrq_n_u64(a, kBits);
  }
  static U64 bit_and(U64 a, U64 b) { return vandq_u64(a, b); }
  static U32 bit_xor(U32 a, U32 b) { return veorq_u64(a, b); }
  static U64 fill_with_sign(U64 a) {
    return vreinterpretq_u64_s64(vshrq_n_s64(vreinterpretq_s64_u64(a), 63));
  }
  static U32 even_odd(U32 even, U32 odd) { return vbslq_u64(fill64(0xffffffff), even, odd); }

  static F64 fill_f64(double v) { return vdupq_n_f64(v); }
  static F64 add_f64(F64 a, F64 b) { return vaddq_f64(a, b); }
  static F64 mul_f64(F64 a, F64 b) { return vmulq_f64(a, b); }
  static F64 div_f64(F64 a, F64 b) { return vdivq_f64(a, b); }
  static F64 load_f64(const double* p) { return vld1q_f64(p); }
  static F64 load_f64(const float* p) { return vcvt_f64_f32(vld1_f32(p)); }
  static F64 as_f64(U64 a) { return vreinterpretq_f64_u64(a); }
  static U64 as_u64(F64 a) { return vreinterpretq_u64_f64(a); }
  // out[i]: table[row + i] for each row.
  static void load_rows_of_4(const double* table, U64 row, F64 (&out)[4]) {
    const double* const a = table + vgetq_lane_u64(row, 0);
    const double* const b = table + vgetq_lane_u64(row, 1);
    for (int i = 0; i < 4; i += 2) {
      out[i] = vzip1q_f64(vld1q_f64(a + i), vld1q_f64(b + i));
      out[i + 1] = vzip2q_f64(vld1q_f64(a + i), vld1q_f64(b + i));
    }
  }
  // table[row[i]] in each lane i.
  template <typename Index>
  static F64 load_f64(const double* table, const Index* row) {
    return vcombine_f64(vld1_f64(table + row[0]), vld1_f64(table + row[1]));
  }
  template <typename Index>
  static F64 load_f64(const float* table, const Index* row) {
    const float values[] = {table[row[0]], table[row[1]]};
    return load_f64(values);
  }

  static F32 fill_f32(float v) { return vdupq_n_f32(v); }
  static F32 add_f32(F32 a, F32 b) { return vaddq_f32(a, b); }
  static F32 mul_f32(F32 a, F32 b) { return vmulq_f32(a, b); }
  static F32 load_f32(const float* p) { return vld1q_f32(p); }
  // The first `count`, and then 0.
  static F32 load_f32(const float* p, int count) {
    float values[4] = {};
    for (int i = 0; i < 4 && i < count; ++i)
      values[i] = p[i];
    return load_f32(values);
  }
  static F64 load_f64(const double* p, int count) {
    const double values[] = {count > 0 ? p[0] : 0, count > 1 ? p[1] : 0};
    return load_f64(values);
  }
  static F32 narrow_f32(F64 low, F64 high) { return vcvt_high_f32_f64(vcvt_f32_f64(low), high); }
  static U32 as_u32(F32 a) { return vreinterpretq_u64_f32(a); }
  static void store_f32(float* p, F32 a) { vst1q_f32(p, a); }
  // The sums of lanes 0 to i, in each lane i, and lane kCount / 2 - 1 in all lanes.
  static F64 running_f64(F64 a) { return add_f64(a, vextq_f64(fill_f64(0), a, 1)); }
  static F64 last_f64(F64 a) { return vdupq_laneq_f64(a, 1); }
  static void store_f64(double* p, F64 a) { vst1q_f64(p, a); }
  // word >> 33 of the words of both.
  static U32 upper31(U64 low, U64 high) {
    return of32(vshrq_n_u32(vuzp2q_u32(as32(low), as32(high)), 1));
  }
  static F32 float_of31(U32 a) { return vcvtq_f32_u32(as32(a)); }
  static U32 exponent_and_half(F32 a) { return of32(vshrq_n_u32(as32(as_u32(a)), 22)); }
  // A bit for each 32-bit lane with a < b.
  static uint32_t less_f32(F32 a, F32 b) { return bits(of32(vcltq_f32(a, b))); }

  // 32 values, of which of() gives the one that the lower 5 bits of each lane are the number of.
  struct Table32 {
    explicit Table32(const uint32_t* p) : of_number(p) {}
    [[nodiscard]] U32 of(U32 number) const {
      alignas(16) uint32_t of_lane[4];
      store(of_lane, number);
      for (uint32_t& value : of_lane)
        value = of_number[value & 31];
      return load(of_lane);
    }
    const uint32_t* of_number;
  };

  static Truth nowhere() { return fill64(0); }
  static Truth is_equal(U32 a, U32 b) { return of32(vceqq_u32(as32(a), as32(b))); }
  static Truth either(Truth a, Truth b) { return vorrq_u64(a, b); }
  static U32 select(Truth where, U32 a, U32 b) { return vbslq_u64(where, a, b); }
  static uint32_t bits(Truth truth) {
    constexpr uint32_t kBits[] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(as32(truth), vld1q_u32(kBits)));
  }

  // Ids as 64-bit lanes, half as many as kCount; those of 32 and 16 bits without a sign. The second
  // form reads the first `count` of them alone.
  static U64 load_ids(const int32_t* ids) { return vmovl_u32(vreinterpret_u32_s32(vld1_s32(ids))); }
  static U64 load_ids(const int64_t* ids) { return vreinterpretq_u64_s64(vld1q_s64(ids)); }
  static U64 load_ids(const uint16_t* ids) {
    return vcombine_u64(vcreate_u64(ids[0]), vcreate_u64(ids[1]));
  }
  static U64 load_ids(const int32_t* ids, int count) {
    return count > 1 ? load_ids(ids) : fill64(static_cast<uint32_t>(*ids));
  }
  static U64 load_ids(const int64_t* ids, int count) {
    return count > 1 ? load_ids(ids) : fill64(static_cast<uint64_t>(*ids));
  }
  static U64 load_ids(const uint16_t* ids, int count) {
    return count > 1 ? load_ids(ids) : fill64(*ids);
  }

  // Values of 16 bits, 2 * kCount. The second form reads the first `count` of them alone.
  static U32 load16(const uint16_t* p) { return vreinterpretq_u64_u16(vld1q_u16(p)); }
  static U32 load16(const uint16_t* p, int count) {
    uint16_t inside[8] = {};
    for (int i = 0; i < count; ++i)
      inside[i] = p[i];
    return load16(inside);
  }
  static U32 fill16(uint16_t v) { return vreinterpretq_u64_u16(vdupq_n_u16(v)); }
  // A bit for each with v - first <= width.
  static uint32_t within16(U32 v, U32 first, U32 width) {
    return bits16(vcleq_u16(vsubq_u16(as16(v), as16(first)), as16(width)));
  }
  // Of those that are `a` or `b`.
  static uint32_t equal_either16(U32 v, U32 a, U32 b) {
    return bits16(vorrq_u16(vceqq_u16(as16(v), as16(a)), vceqq_u16(as16(v), as16(b))));
  }

  // A bit for each 64-bit lane.
  static uint32_t at_most(U64 a, U64 b) { return bits_of64(vcleq_u64(a, b)); }
  static uint32_t at_most_f64(F64 a, F64 b) { return bits_of64(vcleq_f64(a, b)); }
  // counts + (a < b ? 1 : 0)
  static U64 count_less(U64 counts, F64 a, F64 b) { return vsubq_u64(counts, vcltq_f64(a, b)); }
  static U32 iota32() {
    constexpr uint32_t kCounted[] = {0, 1, 2, 3};
    return of32(vld1q_u32(kCounted));
  }
  // Writes the lanes of `v` that `mask` has side by side, and anything after them, kCount lanes in
  // all; returns how many these are.
  static int pack(uint32_t* out, uint32_t mask, U32 v) {
    const uint8x16_t bytes = vld1q_u8(kPackedBytes.byte[mask & 0xf]);
    vst1q_u32(out, vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u64(v), bytes)));
    return __builtin_popcount(mask);
  }
  // The same with the low halves of the 64-bit lanes, half as many.
  static int pack_low(uint32_t* out, uint32_t mask, U64 v) {
    const uint32x2_t low = vmovn_u64(v);
    vst1_u32(out, (mask & 1) != 0 ? low : vrev64_u32(low));
    return __builtin_popcount(mask);
  }

 private:
  static uint16x8_t as16(U32 v) { return vreinterpretq_u16_u64(v); }
  static uint32_t bits16(uint16x8_t truth) {
    constexpr uint16_t kBits[] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(truth, vld1q_u16(kBits)));
  }
  static uint32_t bits_of64(Truth truth) {
    const uint32x2_t lanes = vmovn_u64(truth);
    return (vget_lane_u32(lanes, 0) & 1) | (vget_lane_u32(lanes, 1) & 2);
  }
  static uint32x4_t as32(U32 v) { return vreinterpretq_u32_u64(v); }
  static U32 of32(uint32x4_t v) { return vreinterpretq_u64_u32(v); }
};

}  // namespace
}  // namespace ramet
