// Rows in files, mapped read-only and side by side into one range of addresses.
//
// Memory: every process that maps the same files shares their pages. An Array keeps its mappings
// alive; names and descriptors are needed no more. Threads and forks: immutable; use it from any.
// Failure: kNotFound, kCorrupt and kIo as for a store; no contents of a file do harm. A file that
// is truncated while it is mapped takes pages away from its readers (docs/format.md, 5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ramet/array.h"
#include "ramet/store.h"

namespace ramet {

// The inspected contents of a file. A value; opens nothing.
struct RowFile {
  std::string path;
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;  // rows first
  int64_t offset = 0;          // of the first row, in bytes
  int64_t size = 0;            // of the file, in bytes
  std::pair<uint64_t, uint64_t> identity{0, 0};

  [[nodiscard]] int64_t rows() const { return shape.front(); }
  [[nodiscard]] int64_t row_bytes() const { return array().row_bytes(); }
  // The same, whose uint16 are the bits of bfloat16; kInvalidArgument for another dtype.
  [[nodiscard]] RowFile as_bfloat16() const;
  [[nodiscard]] Array array(void* data = nullptr) const { return {data, dtype, shape, {}, false}; }
};

// An .npy file.
[[nodiscard]] RowFile inspect_npy(const std::string& path);
// A file of only rows, each of `row_shape`, counted by its size. kCorrupt unless they fill it.
[[nodiscard]] RowFile inspect_raw(const std::string& path,
                                  DType dtype,
                                  const std::vector<int64_t>& row_shape);

// For map_rows(): rows from the first of a file to the first of the next, so that each file of
// `files` files can be mapped, at multiples of 2 MiB where that takes no more than 16 TiB of
// addresses. `most_rows`: of a file. `row_bytes`: of all arrays that are to have the same stride.
[[nodiscard]] int64_t file_stride(int64_t most_rows,
                                  int64_t files,
                                  std::span<const int64_t> row_bytes);

// Row r of file k is row k * stride + r of the result, [files * stride, ...]; nothing may touch the
// rows between. Files of one dtype and row shape (else kInvalidArgument), which are those that were
// inspected (else kCorrupt). `stride`: for one file its rows, else of file_stride().
//
// Pages are mapped whole. So a file whose rows begin elsewhere in a page than those of the first
// file is read to memory instead; kNoSpace if that does not fit.
[[nodiscard]] Array map_rows(std::span<const RowFile> files,
                             int64_t stride,
                             OpenMode mode = OpenMode::kRead);

}  // namespace ramet
