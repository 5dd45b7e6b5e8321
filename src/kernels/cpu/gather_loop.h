// The loop that all gathers share: requests rows ahead of their copy, and checks ids.
//
// The ids are known in advance, so the head of a row some rows ahead is requested while the current
// one is copied; the hardware prefetcher follows within long rows. In an unnamed namespace, so that
// each file has its own copy, compiled for the instructions of that file.
#pragma once

#include <cstdint>

#include "ramet/kernels.h"

namespace ramet {
namespace {

constexpr int64_t kLine = 64;  // bytes of a cache line
constexpr int64_t kPrefetchRows = 16;
constexpr int64_t kPrefetchBytes = 512;

// Nobody has checked the id yet, but a prefetch cannot fault: any address will do.
void prefetch_row(const GatherArgs& args, int64_t id) {
  const auto row_bytes = static_cast<uint64_t>(args.row_bytes);
  const uint64_t row = reinterpret_cast<uint64_t>(args.table) + uint64_t(id) * row_bytes;
  const uint64_t end = row + (row_bytes < kPrefetchBytes ? row_bytes : kPrefetchBytes);
  for (uint64_t line = row / kLine * kLine; line < end; line += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(line));
}

// Calls append(row) for each row in order. Returns as Kernels::gather_rows: an id is compared with
// the table's bound (unsigned, so negative ids fail too) before its row is touched.
template <typename Append>
int64_t for_each_row(const GatherArgs& arguments, Append append) {
  const GatherArgs args = arguments;  // no store of a row can be to this copy
  for (int64_t i = 0; i < args.num_ids; ++i) {
    if (i + kPrefetchRows < args.num_ids) prefetch_row(args, args.ids[i + kPrefetchRows]);
    const int64_t id = args.ids[i];
    if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(args.num_rows)) return i;
    append(static_cast<const char*>(args.table) + id * args.row_bytes);
  }
  return -1;
}

}  // namespace
}  // namespace ramet
