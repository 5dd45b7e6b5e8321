#include "piece_reader.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "ramet/error.h"
#include "storage/huge_pages.h"
#include "storage/segment.h"

namespace ramet {

bool PieceReader::is_for(int64_t first, int64_t count) {
  const int64_t row_bytes = rows_.row_bytes();
  const char* const data = static_cast<const char*>(rows_.data) + first * row_bytes;
  if (are_resident(data, count * row_bytes)) return false;
  if (!std::exchange(is_tried_, true)) open();
  return slots_.has_value();
}

void PieceReader::open() {
  try {
    auto spans = path_.empty() ? files_of(rows_)
                               : std::vector<RowSpan>{{.path = path_, .num_rows = rows_.rows()}};
    if (spans.size() != 1 || spans[0].num_rows != rows_.rows()) return;
    files_ = open_to_read_rows(spans, rows_.row_bytes(), true);
    span_ = std::move(spans[0]);
    if (files_.direct) slots_.emplace(2, most_rows_ * rows_.row_bytes() + 2 * files_.block);
  } catch (const Error&) {  // the rows are in memory, or their file is gone: the mapping has them
  }
}

void PieceReader::begin(int64_t first, int64_t count) {
  slot_ = 1 - slot_;
  // Where the system has no thread, the rows are read when they are waited for.
  piece_ = std::async(std::launch::async | std::launch::deferred, &PieceReader::read, this,
                      (*slots_)[slot_], first, count);
}

const std::byte* PieceReader::read(std::byte* to, int64_t first, int64_t count) const {
  const int64_t offset = span_.offset + first * rows_.row_bytes();
  const int64_t begin = offset / files_.block * files_.block;
  const int64_t needed = offset + count * rows_.row_bytes() - begin;
  for (int64_t bytes = 0; bytes < needed;) {
    const auto rest = static_cast<size_t>(round_up(needed, files_.block) - bytes);
    const ssize_t got = ::pread(files_.files[0].get(), to + bytes, rest, begin + bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", span_.path);
    bytes += got;
    if (bytes < needed && (got == 0 || files_.is_end(bytes)))
      throw_corrupt(span_.path, "the file was cut short while it was read");
  }
  return to + (offset - begin);
}

}  // namespace ramet
