// How a record lies in its file: the columns of a row one after the other, each at a multiple of 4
// bytes, then padding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/record_table.h"

namespace ramet {

struct RecordLayout {
  std::vector<int64_t> offsets;  // of each column
  std::vector<int64_t> sizes;    // of its row, in bytes
  int64_t bytes = 0;             // of a record without padding
};

// kInvalidArgument where there is no column.
[[nodiscard]] RecordLayout layout_of(std::span<const RecordColumn> columns);

// A record's width in a file whose direct requests are multiples of `block`, or 0 where there are
// none.
struct RecordWidth {
  int64_t bytes;
  bool direct;  // it is whole blocks
};

// Whole blocks, if that takes at most twice the bytes. A disk moves whole blocks anyway, so it
// reads no more; and it writes them as they are, where parts of a block would have to be read
// first. Of smaller records the page cache is asked, whose pages they share without straddling
// them, if that takes at most an eighth more.
[[nodiscard]] RecordWidth width_of(int64_t record_bytes, int64_t block);

}  // namespace ramet
