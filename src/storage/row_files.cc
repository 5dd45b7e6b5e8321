#include "ramet/row_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>

#include "address_range.h"
#include "base/system/posix.h"
#include "base/system/space.h"
#include "mapped_file.h"
#include "npy.h"
#include "ramet/error.h"
#include "row_reads.h"
#include "segment.h"
#include "shape.h"

namespace ramet {

namespace {

constexpr int64_t kManyAddresses = int64_t{1} << 44;
constexpr int64_t kMostAddresses = int64_t{1} << 47;  // of a process
constexpr int64_t kSmall = int64_t{16} << 20;         // memory holds it

InputFile open_rows(const std::string& path) {
  check_path(path);
  return {AT_FDCWD, path, path};
}

// The fewest rows, at least `rows`, after which arrays of all of `row_bytes` are at a multiple of
// `unit` bytes, a power of 2.
int64_t round_up_rows(int64_t rows, std::span<const int64_t> row_bytes, int64_t unit) {
  int64_t step = 1;
  for (const int64_t bytes : row_bytes)
    step = std::max(step, unit / std::gcd(unit, bytes));
  return round_up(rows, step);
}

// Saturates: what no process has.
int64_t addresses(int64_t rows, int64_t row_bytes) {
  int64_t bytes = 0;
  return __builtin_mul_overflow(rows, row_bytes, &bytes) ? kMostAddresses + 1 : bytes;
}

void check_same_form(std::span<const RowFile> files) {
  const RowFile& first = files.front();
  for (const RowFile& file : files) {
    const bool same_row = std::equal(first.shape.begin() + 1, first.shape.end(),
                                     file.shape.begin() + 1, file.shape.end());
    if (file.dtype == first.dtype && same_row) continue;
    throw_invalid(file.path, " holds ", file.array().describe(), ", but ", first.path, " ",
                  first.array().describe(), ": rows of one table have one dtype and shape");
  }
}

// Maps files at their offsets in a range of addresses.
class SideBySide {
 public:
  SideBySide(std::span<const RowFile> files, int64_t stride, OpenMode mode)
      : files_(files), row_bytes_(files.front().row_bytes()), stride_(stride), mode_(mode) {
    const auto with_rows = std::find_if(files.begin(), files.end(),
                                        [](const RowFile& file) { return file.array().bytes(); });
    if (with_rows != files.end()) lead_ = with_rows->offset;
    const int64_t bytes = addresses(addresses(int64_t(files.size()), stride), row_bytes_);
    if (bytes > kMostAddresses)
      throw_error(ErrorCode::kNoSpace, files.size(), " files of up to ", stride, " rows of ",
                  row_bytes_, " bytes ask for more addresses than a process has, ", kMostAddresses);
    range_ = std::make_shared<AddressRange>(static_cast<size_t>(bytes + lead_), files[0].path);
    require_memory(copied_bytes(), "a copy of the files whose rows are not aligned as those of " +
                                       files[0].path + " are,");
    reads_by_row_ = !fits_memory();
  }

  Array map() {
    for (size_t k = 0; k < files_.size(); ++k)
      if (files_[k].array().bytes() > 0) place(files_[k], rows_of(k));
    Array array = files_.front().array(rows_of(0));
    array.shape[0] = static_cast<int64_t>(files_.size()) * stride_;
    array.owner = range_;
    array.writable = mode_ == OpenMode::kCopyOnWrite;
    return array;
  }

 private:
  [[nodiscard]] std::byte* rows_of(size_t k) const {
    return range_->begin() + lead_ + static_cast<int64_t>(k) * stride_ * row_bytes_;
  }

  [[nodiscard]] bool is_aligned(const RowFile& file) const {
    return (file.offset - lead_) % page_size() == 0;
  }

  [[nodiscard]] int64_t copied_bytes() const {
    int64_t bytes = 0;
    for (const RowFile& file : files_)
      if (!is_aligned(file)) bytes += file.array().bytes();
    return bytes;
  }

  [[nodiscard]] bool fits_memory() const {
    int64_t bytes = 0;
    for (const RowFile& file : files_)
      bytes += file.array().bytes();
    return bytes < kSmall || is_in_memory(files_.front().path) || bytes <= available_memory().bytes;
  }

  void place(const RowFile& file, std::byte* rows) const {
    const InputFile input = open_rows(file.path);
    if (input.identity() != file.identity || input.size() != file.size)
      throw_corrupt(file.path, "the file was replaced, or resized, while it was opened");
    if (is_aligned(file)) {
      const int64_t from = std::max<int64_t>(0, file.offset - lead_);
      const int64_t head = file.offset - from;
      input.map_at(rows - head, from, head + file.array().bytes(), mode_);
      if (reads_by_row_) advise_row_reads(rows - head, head + file.array().bytes());
    } else {
      const int64_t head = reinterpret_cast<int64_t>(rows) % page_size();
      map_memory_at(rows - head, head + file.array().bytes(), file.path);
      input.read_into(rows, file.offset, file.array().bytes());
    }
  }

  std::span<const RowFile> files_;
  int64_t row_bytes_, stride_;
  OpenMode mode_;
  int64_t lead_ = 0;  // where rows begin in the range: as in the first file that has some
  std::shared_ptr<AddressRange> range_;
  bool reads_by_row_ = false;
};

}  // namespace

RowFile RowFile::as_bfloat16() const {
  if (dtype != DType::kUInt16)
    throw_invalid(path, " holds ", array().describe(), "; bfloat16 is stored as uint16");
  RowFile result = *this;
  result.dtype = DType::kBFloat16;
  return result;
}

RowFile inspect_npy(const std::string& path) {
  const InputFile file = open_rows(path);
  NpyHeader header = read_npy_header(file);
  return {path,        header.dtype,   std::move(header.shape), header.data_offset,
          file.size(), file.identity()};
}

RowFile inspect_raw(const std::string& path, DType dtype, const std::vector<int64_t>& row_shape) {
  std::vector<int64_t> shape{1};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  const std::string problem = shape_problem(dtype, shape);
  if (!problem.empty()) throw_invalid("a row of ", path, " ", problem);
  const InputFile file = open_rows(path);
  RowFile rows{path, dtype, std::move(shape), 0, file.size(), file.identity()};
  const int64_t row_bytes = rows.row_bytes();
  if (row_bytes == 0) throw_invalid("rows of no bytes cannot be counted in ", path);
  if (file.size() % row_bytes != 0)
    throw_corrupt(path, "the file has ", file.size(), " bytes, no multiple of the ", row_bytes,
                  " bytes of a row, ", name(dtype), "[", shape_text(row_shape, ", "), "]");
  rows.shape[0] = file.size() / row_bytes;
  return rows;
}

int64_t file_stride(int64_t most_rows, int64_t files, std::span<const int64_t> row_bytes) {
  const int64_t widest = *std::max_element(row_bytes.begin(), row_bytes.end());
  const int64_t narrowest = *std::min_element(row_bytes.begin(), row_bytes.end());
  // Room for the header of the next file, whose pages are mapped with its rows.
  const int64_t rows = most_rows + kMaxNpyHeaderBytes / std::max<int64_t>(narrowest, 1) + 1;
  const int64_t far = round_up_rows(rows, row_bytes, kHugeAlignment);
  if (addresses(addresses(files, far), widest) <= kManyAddresses) return far;
  return round_up_rows(rows, row_bytes, page_size());
}

Array map_rows(std::span<const RowFile> files, int64_t stride, OpenMode mode) {
  if (files.empty()) throw_invalid("no files of rows");
  check_same_form(files);
  return SideBySide(files, stride, mode).map();
}

}  // namespace ramet
