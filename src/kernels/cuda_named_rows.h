// The kernels of the CUDA seam (cuda_backend.h) that write rows which several lists name: set, sum,
// and optimizers' steps. Positions count through all lists. Who calls has sorted them by row, so
// that one warp has all that is listed for a row, in order: the CPU's bits.
#pragma once

#include <cstdint>

#include "kernels/adam_rates.h"
#include "kernels/cpu/update.h"
#include "ramet/array.h"

namespace ramet {

// The rows of one list, in device memory.
struct CudaListedRows {
  int64_t first;  // position of its first row
  const void* rows;
  DType dtype;  // of the table; or float32, for float16 and bfloat16
};

// All in device memory.
struct CudaNamedRows {
  int64_t count;              // of distinct rows
  const int64_t* rows;        // [count]: which row of the table
  const uint32_t* starts;     // [count + 1]: where its positions begin
  const uint32_t* positions;  // of each row ascending
  const CudaListedRows* lists;
  int num_lists;
};

struct CudaWriteArgs {
  void* table;
  DType dtype;
  int64_t width;  // elements of a row
  CudaNamedRows named;
};

struct CudaUpdateArgs {
  CudaWriteArgs weights;  // float32, float16 or bfloat16; the lists: gradients of float32
  UpdateRule rule;
  RowUpdate constants;  // what is the same for all rows; no pointers
  float* moment1;       // of the weights' shape, as below but for kRowwiseAdaGrad; or nullptr
  float* moment2;
  int32_t* steps;  // by row; nullptr: Adam's rates are among the constants
  AdamOptions adam;
  float divisor;  // of the sum of a row's gradients
  // Of narrow weights: whether they are rounded to either neighbor, by words of
  // absorb(rounding_key, id of the row), where row r has row_ids[r - first_row]; nullptr: ids are
  // rows.
  bool stochastic;
  uint64_t rounding_key;
  const int64_t* row_ids;
  int64_t first_row;
};

// Looks up the positions of ids (ramet/whole_table.h). All in device memory.
struct CudaFindPositionsArgs {
  const void* ids;
  bool wide_ids;
  int64_t num_ids;
  int64_t num_rows;
  // Of parts that are ranges: where parts 1, 2, ... begin, filled up to 2^n - 1, and position - id
  // by part, `size` of them.
  const int64_t* begins;
  const int64_t* deltas;
  int size;
  // Else: the position of every row, int32 or int64.
  const void* map;
  bool wide_map;
  int64_t* positions;  // [num_ids]; -1 of an id that is no row
  uint64_t* bad;       // as in CudaGatherArgs
};

struct CudaNamedRowKernels {
  void (*set)(int device, const CudaWriteArgs& args, void* stream);
  void (*sum)(int device, const CudaWriteArgs& args, void* stream);  // not of bool
  void (*update)(int device, const CudaUpdateArgs& args, void* stream);
  void (*find_positions)(int device, const CudaFindPositionsArgs& args, void* stream);
};

}  // namespace ramet
