// Kernels: the seam between the engine and the processor that moves rows: one struct of function
// pointers. That of a GPU is in cuda_backend.h.
#pragma once

#include <cstdint>

namespace ramet {

struct GatherArgs {
  const void* table;  // num_rows rows of row_bytes bytes
  int64_t num_rows;
  int64_t row_bytes;
  const int64_t* ids;  // num_ids row ids
  int64_t num_ids;
  void* out;  // num_ids x row_bytes bytes, at any address; must not overlap the table
  // Bytes of the whole output, where this call writes a part of it: an output that no cache can
  // hold is better written past the caches.
  int64_t output_bytes = 0;
};

// What the elements of stored rows are, where they become float32: docs/format.md, section 2.
enum class Encoding : uint8_t { kFloat16, kBFloat16, kInt8ScaledByRow, kInt8ScaledByColumn };

struct DecodeArgs {
  GatherArgs rows;  // `out` and `output_bytes` are of float32 rows, `out` aligned as these
  Encoding encoding;
  const float* scale = nullptr;  // of int8: num_rows values, or one for each element of a row
};

struct Kernels {
  const char* name;
  // Copies rows table[ids[i]] to out[i]. Returns -1, or the position of the first id outside
  // [0, num_rows): rows before it are then written, nothing else was read. Does not throw.
  int64_t (*gather_rows)(const GatherArgs& args);
  // The same, decoding the rows to float32: the same bits on every device.
  int64_t (*gather_decoded)(const DecodeArgs& args);
};

// Always there. Throws what isa() throws, when that is called first.
[[nodiscard]] const Kernels* cpu_kernels();

}  // namespace ramet
