// Gather: copy scattered rows of a table into one contiguous output.
//
// The ids are known in advance, so the head of the row kPrefetchRows ahead is requested while the
// current one is copied; the hardware prefetcher follows within long rows. Every id is compared
// with the table's bound (unsigned, so negative ids fail too) before its row is touched.
#include <cstring>

#include "ramet/kernels.h"

namespace ramet {
namespace {

constexpr int64_t kPrefetchRows = 8;
constexpr int64_t kCacheLine = 64;
constexpr int64_t kPrefetchBytes = 512;

void prefetch_row(const char* row, int64_t row_bytes) {
  const int64_t bytes = row_bytes < kPrefetchBytes ? row_bytes : kPrefetchBytes;
  for (int64_t b = 0; b < bytes; b += kCacheLine)
    __builtin_prefetch(row + b);
}

int64_t gather_rows(const GatherArgs& args) {
  const auto* table = static_cast<const char*>(args.table);
  auto* out = static_cast<char*>(args.out);
  const auto bound = static_cast<uint64_t>(args.num_rows);
  for (int64_t i = 0; i < args.num_ids; ++i) {
    if (i + kPrefetchRows < args.num_ids) {
      const int64_t ahead = args.ids[i + kPrefetchRows];
      if (static_cast<uint64_t>(ahead) < bound) {
        prefetch_row(table + ahead * args.row_bytes, args.row_bytes);
      }
    }
    const int64_t id = args.ids[i];
    if (static_cast<uint64_t>(id) >= bound) return i;
    std::memcpy(out + i * args.row_bytes, table + id * args.row_bytes,
                static_cast<size_t>(args.row_bytes));
  }
  return -1;
}

constexpr Kernels kCpuKernels{"cpu", gather_rows};

}  // namespace

const Kernels* cpu_kernels() {
  return &kCpuKernels;
}

}  // namespace ramet
