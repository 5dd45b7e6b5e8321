// What the decoding gathers share: a decoder for each encoding, the prefetch of a row's scale, and
// the gather with ordinary stores.
//
// A decoder has select(row, id), which chooses a row of the table, and at(i), which gives its
// elements from i on as float32, as many as a vector of `Lanes` holds, the lanes of a file
// (row_lanes_*.h). In an unnamed namespace, so that each file has its own copy, compiled for them.
#pragma once

#include <cstdint>

#include "gather.h"
#include "gather_loop.h"
#include "kernels/kernels.h"

namespace ramet {
namespace {

int64_t row_elements(const DecodeArgs& args) {
  const bool halves = args.encoding == Encoding::kFloat16 || args.encoding == Encoding::kBFloat16;
  return halves ? args.rows.row_bytes / 2 : args.rows.row_bytes;
}

template <typename Lanes>
struct Decoders {
  using L = typename Lanes::Floats;
  using Vector = typename L::Vector;

  struct Float16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    Vector at(int64_t i) const { return Lanes::Float16::load(row + 2 * i); }
    const char* row = nullptr;
  };

  struct BFloat16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    Vector at(int64_t i) const { return Lanes::BFloat16::load(row + 2 * i); }
    const char* row = nullptr;
  };

  struct Int8ScaledByRow {
    explicit Int8ScaledByRow(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t id) {
      row = new_row;
      scale = L::fill(scales[id]);
    }
    Vector at(int64_t i) const { return L::mul(Lanes::Int8::load(row + i), scale); }
    const float* scales;
    const char* row = nullptr;
    Vector scale = L::fill(0);
  };

  struct Int8ScaledByColumn {
    explicit Int8ScaledByColumn(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t) { row = new_row; }
    Vector at(int64_t i) const { return L::mul(Lanes::Int8::load(row + i), L::load(scales + i)); }
    const float* scales;
    const char* row = nullptr;
  };
};

// Calls gather(decoder) with the decoder of args.encoding.
template <typename Lanes, typename Gather>
int64_t with_decoder(const DecodeArgs& args, Gather gather) {
  switch (args.encoding) {
    case Encoding::kFloat16:
      return gather(typename Decoders<Lanes>::Float16{});
    case Encoding::kBFloat16:
      return gather(typename Decoders<Lanes>::BFloat16{});
    case Encoding::kInt8ScaledByRow:
      return gather(typename Decoders<Lanes>::Int8ScaledByRow{args.scale});
    case Encoding::kInt8ScaledByColumn:
      return gather(typename Decoders<Lanes>::Int8ScaledByColumn{args.scale});
  }
  return 0;
}

// Calls append(decoder) for each row in order. A row's scale lies far from the row, so it is
// requested, too: as elsewhere, of ids that nobody has checked.
template <typename Decoder, typename Append>
int64_t for_each_decoded(const DecodeArgs& args,
                         int64_t longest_requested,
                         Decoder decoder,
                         Append append) {
  const auto append_row = [&](const char* row, int64_t id) {
    decoder.select(row, id);
    append(decoder);
  };
  if (args.encoding != Encoding::kInt8ScaledByRow)
    return for_each_row(args.rows, longest_requested, append_row);
  const auto scale = reinterpret_cast<uint64_t>(args.scale);
  return for_each_row(args.rows, longest_requested, append_row, [scale](int64_t id) {
    __builtin_prefetch(reinterpret_cast<const void*>(scale + uint64_t(id) * sizeof(float)), 0, 2);
  });
}

// The last vector of a row ends with it, and so may write what the one before has written.
template <typename Lanes>
int64_t decode_cached(const DecodeArgs& args) {
  using L = typename Lanes::Floats;
  const int64_t width = row_elements(args);
  if (width < L::kLanes) return gather_decoded_portable(args);
  return with_decoder<Lanes>(args, [&](auto decoder) {
    return for_each_decoded(
        args, kLongestRequested, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i + L::kLanes < width; i += L::kLanes)
            L::store(out + i, row.at(i));
          L::store(out + width - L::kLanes, row.at(width - L::kLanes));
          out += width;
        });
  });
}

// Kernels::narrow.
template <typename Lanes>
void narrow_lanes(const float* values, int64_t count, uint16_t* out) {
  constexpr int64_t kStep = Lanes::Floats::kLanes;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    Lanes::BFloat16::store(reinterpret_cast<char*>(out + i), Lanes::Floats::load(values + i));
  narrow_portable(values + i, count - i, out + i);
}

}  // namespace
}  // namespace ramet
