// The row kernels of the CUDA seam (cuda_backend.h): gather and scatter by row id, and the order of
// ids. All memory named
// here is memory that the device can address: its own, or page-locked memory of the host by its
// device_address().
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda_row_regions.h"
#include "kernels/cuda_sampling.h"
#include "kernels/kernels.h"
#include "ramet/cuda.h"

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
  // Of each id: which row of `out` its row becomes, and which id it is; nullptr: i of ids[i].
  const uint32_t* positions = nullptr;
  bool on_host = false;  // the table is memory of the host
  CudaRowCache cache = {};
  // An id outside [0, num_rows) reads nothing and leaves its row of `out` unchanged. If `bad` is
  // given, it becomes the minimum of its value (at first kNoBadId) and the lowest position of such
  // an id. In device memory.
  uint64_t* bad = nullptr;
  // Multiprocessors, at most; 0: all of them. kEnoughSms: where the table is memory of the host, as
  // many as keep the bus busy (kernels/cuda/bus_limit.h), else all.
  int max_sms = kEnoughSms;
  bool shift = true;  // aligned requests for rows that are not, as a bus wants them
};

struct CudaDecodeArgs {
  CudaGatherArgs rows;  // `out` of float32, aligned as these
  Encoding encoding;
  const float* scale = nullptr;  // of int8: num_rows values, or one for each element of a row
};

// out[i] = values[i] as bfloat16, rounded to the nearest, ties to even: the CPU's bits.
struct CudaRoundArgs {
  const float* values;
  int64_t count;
  uint16_t* out;
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
  void* scratch;             // scatter_scratch_bytes(num_ids)
  uint64_t* bad = nullptr;   // as in CudaGatherArgs
  int max_sms = kEnoughSms;  // as above, but that this is all of them
};

// The ids of a gather by the region of the table that they are in (cuda_row_regions.h), with their
// positions: `ids` and `positions` of CudaGatherArgs. All in device memory, or where it can address
// it.
struct CudaOrderArgs {
  const void* ids;
  bool wide_ids;
  int64_t num_ids;    // at most kMostSortedIds
  int64_t num_rows;   // of the table; ids that are no row come last
  int64_t row_bytes;  // above 0
  void* ordered;      // num_ids, as wide
  uint32_t* positions;
  uint32_t* begins;  // scratch: cuda_order_counters()
  CudaScratch scan;  // of as many values
};

[[nodiscard]] constexpr int64_t cuda_order_counters(int64_t num_rows, int64_t row_bytes) {
  return row_regions(num_rows, row_bytes).count + 2;  // one of ids that are no row, and the end
}

struct CudaRowKernels {
  void (*gather)(int device, const CudaGatherArgs& args, void* stream);
  void (*gather_decoded)(int device, const CudaDecodeArgs& args, void* stream);
  void (*scatter)(int device, const CudaScatterArgs& args, void* stream);
  void (*round)(int device, const CudaRoundArgs& args, void* stream);
  void (*order)(int device, const CudaOrderArgs& args, void* stream);
};

}  // namespace ramet
