// Kernels: the seam between the engine and the processor that moves rows, as a struct of function
// pointers. The GPU's seam is in cuda_backend.h.
#pragma once

#include <cstdint>

namespace ramet {

struct GatherArgs {
  const void* table;  // num_rows rows of row_bytes bytes
  int64_t num_rows;
  int64_t row_bytes;
  int64_t row_stride;  // bytes from the beginning of a row to that of the next
  const int64_t* ids;  // num_ids row ids
  int64_t num_ids;
  void* out;  // num_ids x row_bytes bytes, at any address; must not overlap the table
  // Bytes of the whole output, if this call writes a part of it. An output larger than the caches
  // is written past them.
  int64_t output_bytes = 0;
};

// How stored elements encode float32: docs/format.md, section 2.
enum class Encoding : uint8_t { kFloat16, kBFloat16, kInt8ScaledByRow, kInt8ScaledByColumn };

struct DecodeArgs {
  GatherArgs rows;  // `out` and `output_bytes` are of float32 rows, `out` aligned as these
  Encoding encoding;
  const float* scale = nullptr;  // of int8: num_rows values, or one for each element of a row
};

struct Kernels {
  const char* name;
  // Copies rows table[ids[i]] to out[i]. Returns -1, or the position of the first id outside [0,
  // num_rows); then only the rows before it were read and written. Does not throw.
  int64_t (*gather_rows)(const GatherArgs& args);
  // The same, decoding rows to float32, with the same bits on every device.
  int64_t (*gather_decoded)(const DecodeArgs& args);
  // out[i] = values[i] as bfloat16, rounded to the nearest, ties to even.
  void (*narrow)(const float* values, int64_t count, uint16_t* out);
};

// Never nullptr. Throws what isa() throws at its first call.
[[nodiscard]] const Kernels* cpu_kernels();

}  // namespace ramet
