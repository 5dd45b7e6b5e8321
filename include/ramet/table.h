// Table: rows by row id (features, labels, embeddings).
//
// A value over an Array, and over its scale if it holds quantized int8; keeps both alive. gather()
// and gather_float32() may run in any thread, and in several at once. The Array may be on a device,
// without a scale: ids and rows of these calls are still on the host. Failure: an id outside the
// table is kOutOfRange and names value, bound and position.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"

namespace ramet {

enum class Encoding : uint8_t;  // kernels/kernels.h

// The form of gathered rows.
struct RowForm {
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;  // of one row

  [[nodiscard]] int64_t row_bytes() const;
  [[nodiscard]] std::vector<int64_t> shape_of(int64_t num_rows) const;
};

// Cache hits, and rows read from behind the cache.
struct CacheStats {
  int64_t hits = 0, misses = 0;

  CacheStats& operator+=(const CacheStats& other);
  bool operator==(const CacheStats&) const = default;
};

class Table {
 public:
  // Errors use `name` for the table.
  explicit Table(Array rows, std::string name = "table")
      : rows_(std::move(rows)), name_(std::move(name)) {}
  // Quantized rows: int8 and a scale (scale.h). An Array without a shape is no scale.
  // kInvalidArgument if the scale does not fit the rows.
  Table(Array rows, Array scale, std::string name);

  [[nodiscard]] const Array& rows() const { return rows_; }
  [[nodiscard]] const Array& scale() const { return scale_; }
  [[nodiscard]] bool has_scale() const { return !scale_.shape.empty(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Whether rows are stored in less than float32: float16, bfloat16, scaled int8.
  [[nodiscard]] bool is_encoded() const;
  // How rows are encoded; kInvalidArgument if they are not.
  [[nodiscard]] Encoding encoding() const;
  // The dtype of gathered rows: as stored; `decode`: encoded rows as float32.
  [[nodiscard]] RowForm form(bool decode) const;

  // Writes row ids[i] to row i of `out` (ids.size() rows of this table's dtype and row shape, not
  // overlapping the table), on at most `threads` threads.
  void gather(std::span<const int64_t> ids, void* out, int threads = 1) const;
  // The same into a recycled buffer.
  [[nodiscard]] Array gather(std::span<const int64_t> ids, int threads = 1) const;

  // The same as float32, to the bit by docs/format.md, section 2. kInvalidArgument unless the rows
  // are float32 or encoded.
  void gather_float32(std::span<const int64_t> ids, float* out, int threads = 1) const;
  [[nodiscard]] Array gather_float32(std::span<const int64_t> ids, int threads = 1) const;

  // The same as bfloat16: rows of bfloat16 as stored, others rounded from the result of
  // gather_float32(), to the nearest, ties to even. No float32 row is written to memory.
  void gather_bfloat16(std::span<const int64_t> ids, uint16_t* out, int threads = 1) const;

 private:
  Array rows_, scale_;
  std::string name_;
};

// Rows at equal distances in memory that the caller keeps alive: a part of the columns of a matrix,
// for one. Each row is contiguous.
struct StridedRows {
  const void* data = nullptr;
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;  // of all rows, never empty
  int64_t stride = 0;          // bytes from the beginning of a row to that of the next

  [[nodiscard]] int64_t row_bytes() const;
};

// Rows ids[i], in a recycled buffer, on at most `threads` threads (0: all). kOutOfRange as above.
[[nodiscard]] Array gather(const StridedRows& rows, std::span<const int64_t> ids, int threads);

// The table `name`, with its scale if any. `owner`: its owner's name in errors, "node type
// 'paper'". kNotFound lists the existing tables.
[[nodiscard]] Table find_table(const std::map<std::string, Array>& tables,
                               const std::map<std::string, Array>& scales,
                               const std::string& name,
                               const std::string& owner);

}  // namespace ramet
