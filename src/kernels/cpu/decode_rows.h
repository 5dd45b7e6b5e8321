// What the decoding gathers share: the choice of a row's decoder, and the prefetch of its scale.
//
// A decoder is a struct with select(row, id), which chooses a row of the table, and at(i), which
// gives its elements from i on as float32, as many as a vector of its file holds. In an unnamed
// namespace, so that each file has its own copy, compiled for the instructions of that file.
#pragma once

#include <cstdint>

#include "gather_loop.h"
#include "ramet/kernels.h"

namespace ramet {
namespace {

int64_t row_elements(const DecodeArgs& args) {
  const bool halves = args.encoding == Encoding::kFloat16 || args.encoding == Encoding::kBFloat16;
  return halves ? args.rows.row_bytes / 2 : args.rows.row_bytes;
}

// Calls gather(decoder) with the decoder of args.encoding, out of a file's four.
template <typename Decoders, typename Gather>
int64_t with_decoder(const DecodeArgs& args, Gather gather) {
  switch (args.encoding) {
    case Encoding::kFloat16:
      return gather(typename Decoders::Float16{});
    case Encoding::kBFloat16:
      return gather(typename Decoders::BFloat16{});
    case Encoding::kInt8ScaledByRow:
      return gather(typename Decoders::Int8ScaledByRow{args.scale});
    case Encoding::kInt8ScaledByColumn:
      return gather(typename Decoders::Int8ScaledByColumn{args.scale});
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

}  // namespace
}  // namespace ramet
