// The row kernels of the CUDA seam (cuda_backend.h): gather and scatter by row id. All memory named
// here is memory that the device can address: its own, or page-locked memory of the host by its
// device_address().
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/kernels.h"

namespace ramet {

// The value of CudaGatherArgs::bad where no id is bad. All its bytes are 0xFF.
inline constexpr uint64_t kNoBadId = UINT64_MAX;

// A cache in device memory for the most read rows of a table.
struct CudaRowCache {
  // By row of the table: its row in `rows`, or -1. nullptr: there is no cache.
  const int32_t* slot = nullptr;
  const void* rows = nullptr;    // encoded as the table's
  const float* scale = nullptr;  // of rows scaled each on its own: of the cached ones, by slot
  uint64_t* hits = nullptr;      // in device memory: counted up by the ids found here
};

struct CudaGatherArgs {
  const void* table;  // num_rows rows of row_bytes bytes
  int64_t num_rows;
  int64_t row_bytes;
  const void* ids;  // num_ids row ids
  bool wide_ids;    // int64, else int32
  int64_t num_ids;
  void* out;  // num_ids rows, of row_bytes bytes or float32
  CudaRowCache cache = {};
  // An id outside [0, num_rows) reads nothing and leaves its row of `out` unchanged. If `bad` is
  // given, it becomes the minimum of its value (at first kNoBadId) and the lowest position of such
  // an id. In device memory.
  uint64_t* bad = nullptr;
  int max_sms = 0;    // as many blocks as this many multiprocessors hold, at most; 0: all of them
  bool shift = true;  // aligned requests for rows that are not; false for comparison alone
};

struct CudaDecodeArgs {
  CudaGatherArgs rows;  // `out` of float32, aligned as these
  Encoding encoding;
  const float* scale = nullptr;  // of int8: num_rows values, or one for each element of a row
};

// Bytes of device scratch memory that a scatter needs, aligned to 4 bytes.
[[nodiscard]] constexpr int64_t scatter_scratch_bytes(int64_t num_ids) {
  return 4 * static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(num_ids) + 1));
}

// Writes rows[i] to row ids[i]; where an id repeats, the last wins. At most 2^31 - 1 ids.
struct CudaScatterArgs {
  void* table;
  int64_t num_rows;
  int64_t row_bytes;
  const void* ids;
  bool wide_ids;
  int64_t num_ids;
  const void* rows;
  void* scratch;            // scatter_scratch_bytes(num_ids)
  uint64_t* bad = nullptr;  // as in CudaGatherArgs
  int max_sms = 0;
};

struct CudaRowKernels {
  void (*gather)(int device, const CudaGatherArgs& args, void* stream);
  void (*gather_decoded)(int device, const CudaDecodeArgs& args, void* stream);
  void (*scatter)(int device, const CudaScatterArgs& args, void* stream);
};

}  // namespace ramet
