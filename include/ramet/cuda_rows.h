// The row kernels of the CUDA seam (cuda.h): gather and scatter by row id.
#pragma once

#include <cstdint>

#include "ramet/kernels.h"

namespace ramet {

// The most read rows of a table, in device memory in front of it.
struct CudaRowCache {
  const int32_t* slot =
      nullptr;                   // by row of the table: its row in `rows`, or -1; nullptr: no cache
  const void* rows = nullptr;    // encoded as the table's
  const float* scale = nullptr;  // of rows scaled each on its own: of the cached ones, by slot
  uint64_t* hits = nullptr;      // counted up by the ids found here
};

struct CudaGatherArgs {
  const void* table;  // num_rows rows of row_bytes bytes that the device can read
  int64_t num_rows;
  int64_t row_bytes;
  const void* ids;  // num_ids row ids
  bool wide_ids;    // int64, else int32
  int64_t num_ids;
  void* out;  // num_ids rows, of row_bytes bytes or float32
  CudaRowCache cache = {};
  // Where ids are checked, set to 1 + the position of an id outside [0, num_rows), the lowest; its
  // row, and every bad one, is left as it is. 0 before. Ids are never followed outside the table.
  uint64_t* bad = nullptr;
  int max_sms = 0;    // multiprocessors that the kernel may use; 0: all
  bool shift = true;  // aligned requests for rows that are not; false for comparison alone
};

struct CudaDecodeArgs {
  CudaGatherArgs rows;  // `out` of float32
  Encoding encoding;
  const float* scale = nullptr;  // of int8: num_rows values, or one for each element of a row
};

// Writes rows[i] to row ids[i]; where an id repeats, the last wins.
struct CudaScatterArgs {
  void* table;
  int64_t num_rows;
  int64_t row_bytes;
  const void* ids;
  bool wide_ids;
  int64_t num_ids;
  const void* rows;
  uint64_t* bad = nullptr;  // as in CudaGatherArgs
};

struct CudaRowKernels {
  void (*gather)(int device, const CudaGatherArgs& args, void* stream);
  void (*gather_decoded)(int device, const CudaDecodeArgs& args, void* stream);
  void (*scatter)(int device, const CudaScatterArgs& args, void* stream);
};

}  // namespace ramet
