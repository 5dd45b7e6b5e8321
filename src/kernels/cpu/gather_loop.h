// The loop that all gathers share: requests rows ahead of their copy, and checks ids.
//
// The ids are known in advance, so rows some way ahead are requested while one is copied: into the
// second-level cache, which has room for several times as many requests as the first (that alone
// was worth a fifth for rows of 128 to 256 bytes). Of each row the first 512 bytes: by then the
// hardware's prefetcher has seen where the row leads, and more requests would be in its way. In an
// unnamed namespace, so that each file has its own copy, compiled for the instructions of that
// file.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace ramet {
namespace {

constexpr int64_t kLine = 64;  // bytes of a cache line
constexpr int64_t kAnyLength = INT64_MAX;
// Of longer rows the hardware's prefetcher sees enough; beside ordinary stores requests for them
// cost up to a tenth.
constexpr int64_t kLongestRequested = 2048;

// How far ahead, and how much of a row.
struct Prefetch {
  int64_t rows;
  uint64_t bytes;

  explicit Prefetch(int64_t row_bytes) {
    constexpr int64_t kFew = 8, kMany = 32, kBytesAhead = 16 << 10, kHead = 512;
    const int64_t fit = row_bytes > 0 ? kBytesAhead / row_bytes : kMany;
    rows = fit < kFew ? kFew : fit > kMany ? kMany : fit;
    bytes = static_cast<uint64_t>(row_bytes < kHead ? row_bytes : kHead);
  }

  // Nobody has checked the id yet, but a prefetch cannot fault: any address will do, also one that
  // wraps around.
  void request(const GatherArgs& args, int64_t id) const {
    const auto table = reinterpret_cast<uint64_t>(args.table);
    const uint64_t row = table + uint64_t(id) * static_cast<uint64_t>(args.row_stride);
    const uint64_t first = row / kLine * kLine, length = row - first + bytes;
    for (uint64_t at = 0; at < length; at += kLine)
      __builtin_prefetch(reinterpret_cast<const void*>(first + at), 0, 2);
  }
};

// Calls append(row, id) for each row in order, with prefetch of rows up to `longest_requested`
// bytes: longer ones are left to the hardware; with_request(id) is called where a row is requested.
// Returns as Kernels::gather_rows: an id is compared with the table's bound (unsigned, so negative
// ids fail too) before its row is touched.
template <typename Append, typename WithRequest>
int64_t for_each_row(const GatherArgs& arguments,
                     int64_t longest_requested,
                     Append append,
                     WithRequest with_request) {
  const GatherArgs args = arguments;  // no store of a row can be to this copy
  const Prefetch ahead(args.row_bytes);
  const int64_t num_requests = args.row_bytes <= longest_requested ? args.num_ids - ahead.rows : 0;
  for (int64_t i = 0; i < args.num_ids; ++i) {
    if (i < num_requests) {
      ahead.request(args, args.ids[i + ahead.rows]);
      with_request(args.ids[i + ahead.rows]);
    }
    const int64_t id = args.ids[i];
    if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(args.num_rows)) return i;
    append(static_cast<const char*>(args.table) + id * args.row_stride, id);
  }
  return -1;
}

template <typename Append>
int64_t for_each_row(const GatherArgs& args, int64_t longest_requested, Append append) {
  return for_each_row(args, longest_requested, append, [](int64_t) {});
}

}  // namespace
}  // namespace ramet
