#include "record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/system/posix.h"
#include "base/system/space.h"
#include "ramet/error.h"
#include "storage/row_reader/direct_block.h"
#include "storage/unnamed_file.h"

namespace ramet {
namespace {

constexpr int64_t kPieceBytes = int64_t{4} << 20;  // thousands of records: a disk is busy with them
constexpr size_t kPieces = 2;                      // on their way
constexpr int64_t kPositionBytes = sizeof(uint32_t);
// What a request and a byte cost a usual disk. Nothing can be measured of a file that is empty.
constexpr double kRequestSeconds = 10e-6, kByteSeconds = 1e-9;

int64_t position_bytes_of(int64_t num_rows, int64_t record_bytes) {
  // Twice: with padding. 2^62: offsets can be added.
  int64_t bytes = 0;
  if (__builtin_mul_overflow(num_rows, 2 * record_bytes, &bytes) || bytes > int64_t{1} << 62)
    throw_invalid(num_rows, " records of ", record_bytes, " bytes are more than any file holds");
  return num_rows * kPositionBytes;
}

int64_t block_of(const Fd& file) {
  if (is_in_memory(path_of(file))) return 0;
  const Fd direct = reopen(file, O_RDWR | O_DIRECT);
  return direct ? direct_block(direct.get()) : 0;
}

}  // namespace

RecordFile::RecordFile(const std::string& folder,
                       NodeRows numbers,
                       int64_t record_bytes,
                       RowReaderOptions::Method method)
    : folder_(folder),
      numbers_(std::move(numbers)),
      positions_(position_bytes_of(numbers_.num_rows(), record_bytes), "the positions of records") {
  const int64_t num_rows = numbers_.num_rows();
  Fd file = create_unnamed_file(folder);
  width_ = width_of(record_bytes, block_of(file));
  const int64_t bytes = num_rows * width_.bytes;
  if (::ftruncate(file.get(), bytes) != 0)
    throw_errno(errno, concat("make a file of ", bytes, " bytes in"), folder);
  positions_.grow(num_rows * kPositionBytes);
  reader_ =
      RowReader::open({{.path = path_of(file), .offset = 0, .num_rows = num_rows}}, width_.bytes,
                      {.method = method,
                       .direct = width_.direct,
                       .request_seconds = kRequestSeconds,
                       .byte_seconds = kByteSeconds});
  if (width_.direct) {
    Fd direct = reopen(file, O_RDWR | O_DIRECT);
    if (!direct) throw_errno(errno, "open the records in", folder);
    file = std::move(direct);
  }
  writer_ = std::make_unique<RowWriter>(std::move(file), width_.bytes, "the records in " + folder,
                                        method != RowReaderOptions::Method::kThreads);
}

int64_t RecordFile::memory_bytes() const {
  return positions_.taken_bytes() + reader_->memory_bytes();
}

ReadCounts RecordFile::write(std::span<const int64_t> rows, const PackRow& pack) {
  struct Placed {
    int64_t number;
    size_t row;
  };
  std::vector<Placed> placed(rows.size());
  const uint32_t count = count_;
  for (size_t i = 0; i < rows.size(); ++i) {
    uint32_t& at = position(rows[i]);
    if (at == 0) at = ++count_;
    placed[i] = {int64_t{at} - 1, i};
  }
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return a.number < b.number; });
  std::vector<int64_t> numbers(rows.size());
  std::transform(placed.begin(), placed.end(), numbers.begin(),
                 [](const Placed& one) { return one.number; });
  try {
    return writer_->write(numbers, [&](size_t i, std::byte* to) { pack(placed[i].row, to); });
  } catch (...) {  // new rows are not in the file
    for (const int64_t row : rows)
      if (position(row) > count) position(row) = 0;
    count_ = count;
    throw;
  }
}

RecordReads::RecordReads(const RecordFile& file, std::span<const int64_t> rows)
    : file_(file), rows_(rows) {
  for (size_t i = 0; i < kPieces; ++i)
    submit();
}

void RecordReads::submit() {
  if (next_ == rows_.size()) return;
  const int64_t width = file_.record_bytes();
  const auto most =
      static_cast<size_t>(std::max<int64_t>(kPieceBytes / std::max<int64_t>(width, 1), 1));
  Piece piece;
  piece.first = next_;
  piece.count = std::min(most, rows_.size() - next_);
  piece.records =
      std::make_unique_for_overwrite<std::byte[]>(piece.count * static_cast<size_t>(width));
  for (const int64_t row : rows_.subspan(piece.first, piece.count))
    piece.positions.push_back(int64_t{file_.position(row)} - 1);
  piece.rows = file_.reader_->submit(piece.positions, piece.records.get());
  next_ += piece.count;
  pieces_.push_back(std::move(piece));
}

// The row of the embedding, where the reader knows its position in the file.
Error RecordReads::named(const Piece& piece, const RowReadError& error) const {
  const auto at = std::find(piece.positions.begin(), piece.positions.end(), error.row());
  const int64_t row = rows_[piece.first + static_cast<size_t>(at - piece.positions.begin())];
  const std::string what =
      concat("row ", row, " at byte ", error.row() * file_.record_bytes(), " of");
  const std::string records = "the records in " + file_.folder_;
  if (error.system_errno() != 0) return error_of(error.system_errno(), "read " + what, records);
  return {error.code(), concat(what, " ", records, " is not in the file any more")};
}

ReadCounts RecordReads::finish(TakeRecords take) {
  ReadCounts counts;
  for (; !pieces_.empty(); pieces_.pop_front()) {
    Piece& piece = pieces_.front();
    try {
      counts += piece.rows->complete();
    } catch (const RowReadError& error) {
      throw named(piece, error);
    }
    submit();
    take(piece.first, piece.count, piece.records.get());
  }
  return counts;
}

}  // namespace ramet
