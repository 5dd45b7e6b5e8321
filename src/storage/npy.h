// The .npy format: what stands before the data of an array. docs/format.md, section 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapped_file.h"
#include "ramet/array.h"

namespace ramet {

// Where the data of a file that Ramet writes begins: on a page. numpy refuses headers of more
// than 10,000 bytes, so it cannot be further.
inline constexpr int64_t kNpyDataOffset = 4096;

// Version 1.0 cannot have a longer header; version 2.0 could have 4 GiB, which no array of ours
// needs.
inline constexpr int64_t kMaxNpyHeaderBytes = 65536;

struct NpyHeader {
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;
  int64_t data_offset = 0;
};

// "<f4" for float32, and back.
[[nodiscard]] const char* descr(DType dtype);
[[nodiscard]] std::optional<DType> parse_descr(std::string_view text);

// The kNpyDataOffset bytes that stand before the data.
[[nodiscard]] std::string print_npy_header(DType dtype, const std::vector<int64_t>& shape);

// Reading is done in two steps, since a header of another writer may have any length.
// `head`: the file's first bytes, kNpyDataOffset of them or the whole file. Both throw kCorrupt
// beginning with `location`.
[[nodiscard]] int64_t npy_data_offset(std::string_view head,
                                      int64_t file_size,
                                      const std::string& location);
// `head`: at least npy_data_offset() bytes. The file's size is checked against the shape.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view head,
                                         int64_t file_size,
                                         const std::string& location);
// Both steps.
[[nodiscard]] NpyHeader read_npy_header(const InputFile& file);

}  // namespace ramet
