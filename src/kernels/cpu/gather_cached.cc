// Gather with ordinary stores. A short row is two copies of a fixed size, one from each end, which
// may overlap in the middle: no call and no loop.
#include <cstring>

#include "gather.h"
#include "gather_loop.h"

namespace ramet {
namespace {

// For rows of kHalf to 2 kHalf bytes.
template <size_t kHalf>
struct CopyHalves {
  static void copy(char* out, const char* row, size_t row_bytes) {
    std::memcpy(out, row, kHalf);
    std::memcpy(out + row_bytes - kHalf, row + row_bytes - kHalf, kHalf);
  }
};

struct CopyAny {
  static void copy(char* out, const char* row, size_t row_bytes) {
    std::memcpy(out, row, row_bytes);
  }
};

template <typename Copy>
int64_t gather_by(const GatherArgs& args) {
  const auto row_bytes = static_cast<size_t>(args.row_bytes);
  return for_each_row(
      args, kLongestRequested,
      [row_bytes, out = static_cast<char*>(args.out)](const char* row, int64_t) mutable {
        Copy::copy(out, row, row_bytes);
        out += row_bytes;
      });
}

}  // namespace

int64_t gather_cached(const GatherArgs& args) {
  const int64_t bytes = args.row_bytes;
  if (bytes < 1 || bytes > 128) return gather_by<CopyAny>(args);
  if (bytes <= 2) return gather_by<CopyHalves<1>>(args);
  if (bytes <= 4) return gather_by<CopyHalves<2>>(args);
  if (bytes <= 8) return gather_by<CopyHalves<4>>(args);
  if (bytes <= 16) return gather_by<CopyHalves<8>>(args);
  if (bytes <= 32) return gather_by<CopyHalves<16>>(args);
  if (bytes <= 64) return gather_by<CopyHalves<32>>(args);
  return gather_by<CopyHalves<64>>(args);
}

}  // namespace ramet
