// Table: rows by row id (features, labels, embeddings).
//
// A value over an Array, and the scale of one that holds quantized int8, which it keeps alive.
// gather() and gather_float32() may run in any thread, and in several at once. Failure: an id
// outside the table is kOutOfRange and names value, bound and position.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ramet/array.h"

namespace ramet {

enum class Encoding : uint8_t;  // kernels/kernels.h

// What a cache of rows was asked for.
struct CacheUse {
  int64_t hits = 0, misses = 0;  // rows
};

class Table {
 public:
  // `name` is how errors call the table.
  explicit Table(Array rows, std::string name = "table")
      : rows_(std::move(rows)), name_(std::move(name)) {}
  // Quantized rows: int8, and a scale as scale.h has them; an Array of no shape is none.
  // kInvalidArgument where it does not fit the rows.
  Table(Array rows, Array scale, std::string name);

  [[nodiscard]] const Array& rows() const { return rows_; }
  [[nodiscard]] const Array& scale() const { return scale_; }
  [[nodiscard]] bool has_scale() const { return !scale_.shape.empty(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  // The rows are stored as less than the float32 they stand for: float16, bfloat16, scaled int8.
  [[nodiscard]] bool is_encoded() const;
  // How. kInvalidArgument where they are not.
  [[nodiscard]] Encoding encoding() const;

  // Writes row ids[i] to row i of `out` (ids.size() rows of this table's dtype and row shape, not
  // overlapping the table), on at most `threads` threads.
  void gather(std::span<const int64_t> ids, void* out, int threads = 1) const;
  // The same into a recycled buffer.
  [[nodiscard]] Array gather(std::span<const int64_t> ids, int threads = 1) const;

  // The same as float32, to the bit as docs/format.md, section 2 says. kInvalidArgument unless the
  // rows are float32 or encoded.
  void gather_float32(std::span<const int64_t> ids, float* out, int threads = 1) const;
  [[nodiscard]] Array gather_float32(std::span<const int64_t> ids, int threads = 1) const;

 private:
  [[nodiscard]] std::vector<int64_t> gathered_shape(size_t num_ids) const;

  Array rows_, scale_;
  std::string name_;
};

}  // namespace ramet
