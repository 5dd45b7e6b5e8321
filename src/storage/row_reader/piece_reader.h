// Pieces of an array that is mapped from a file, read past the page cache: each by one large
// request, while the caller works on the piece before. A scan by page faults would keep the kernel
// busy, and drop from the page cache what others need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "ramet/array.h"
#include "read_files.h"
#include "read_slots.h"

namespace ramet {

class PieceReader {
 public:
  // `path`: of the file that `rows` fill from its begin; "": the kernel is asked. Pieces have at
  // most `most_rows` rows. Opens nothing yet.
  PieceReader(const Array& rows, std::string path, int64_t most_rows)
      : rows_(rows), path_(std::move(path)), most_rows_(most_rows) {}

  // Whether begin() is for rows [first, first + count): not where they are in memory, nor where
  // they are of no file, or of several, or it cannot be read past the page cache.
  [[nodiscard]] bool is_for(int64_t first, int64_t count);
  // Starts to read them.
  void begin(int64_t first, int64_t count);
  // Waits for them. They stay until the next but one are begun. kIo; kCorrupt if the file ends.
  [[nodiscard]] const std::byte* finish() { return piece_.get(); }

 private:
  void open();
  [[nodiscard]] const std::byte* read(std::byte* to, int64_t first, int64_t count) const;

  const Array& rows_;
  std::string path_;
  int64_t most_rows_;
  bool is_tried_ = false;
  ReadFiles files_;
  RowSpan span_;
  std::optional<ReadSlots> slots_;
  int64_t slot_ = 0;
  std::future<const std::byte*> piece_;  // last: it waits until it was read
};

}  // namespace ramet
