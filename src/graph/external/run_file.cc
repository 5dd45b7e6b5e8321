#include "run_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "ramet/error.h"
#include "storage/chunked_write.h"
#include "storage/unnamed_file.h"

namespace ramet {
namespace {

constexpr int64_t kBlock = 4096;  // of a file system

}  // namespace

RunFile::RunFile(const std::string& folder,
                 int64_t num_buckets,
                 int64_t record_bytes,
                 int64_t most_records)
    : num_buckets_(num_buckets),
      record_bytes_(record_bytes),
      stride_((offset_of_record(0, most_records) + kBlock - 1) / kBlock * kBlock),
      records_of_(static_cast<size_t>(num_buckets)),
      location_("a temporary file in " + folder),
      file_(create_unnamed_file(folder)) {}

void RunFile::write(const std::vector<int64_t>& begin, const void* records) {
  const Progress nobody;
  ProgressCount count(nobody, 0);
  const std::string_view head(reinterpret_cast<const char*>(begin.data()),
                              begin.size() * sizeof(int64_t));
  write_chunks(file_.get(), offset_of_begin(runs_, 0), head, records, begin.back() * record_bytes_,
               location_, count);
  for (size_t b = 0; b < records_of_.size(); ++b)
    records_of_[b] += begin[b + 1] - begin[b];
  records_ += begin.back();
  ++runs_;
}

std::vector<int64_t> RunFile::begins(int64_t run, int64_t first, int64_t last) const {
  std::vector<int64_t> begin(static_cast<size_t>(last - first + 1));
  read_at(offset_of_begin(run, first), static_cast<int64_t>(begin.size() * sizeof(int64_t)),
          begin.data());
  return begin;
}

void RunFile::read_records(int64_t run, int64_t begin, int64_t end, void* to) const {
  read_at(offset_of_record(run, begin), (end - begin) * record_bytes_, to);
}

void RunFile::read_at(int64_t offset, int64_t bytes, void* to) const {
  for (auto* next = static_cast<char*>(to); bytes > 0;) {
    const ssize_t count = ::pread(file_.get(), next, static_cast<size_t>(bytes), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw_errno(count < 0 ? errno : EIO, "read", location_);
    next += count;
    offset += count;
    bytes -= count;
  }
}

void RunFile::read(
    int64_t run,
    int64_t first,
    int64_t last,
    std::span<std::byte> piece,
    FunctionRef<void(int64_t bucket, const std::byte* records, int64_t count)> visit) const {
  const std::vector<int64_t> begin = begins(run, first, last);
  const int64_t most = std::ssize(piece) / record_bytes_;
  size_t bucket = 0;
  for (int64_t next = begin.front(); next < begin.back();) {
    const int64_t end = std::min(next + most, begin.back());
    read_records(run, next, end, piece.data());
    for (int64_t from = next; from < end;) {
      while (begin[bucket + 1] <= from)
        ++bucket;
      const int64_t count = std::min(begin[bucket + 1], end) - from;
      visit(first + static_cast<int64_t>(bucket),
            &piece[static_cast<size_t>((from - next) * record_bytes_)], count);
      from += count;
    }
    next = end;
  }
}

void RunFile::release(int64_t first, int64_t last) const {
  for (int64_t run = 0; run < runs_; ++run) {
    const auto begin = begins(run, first, first), end = begins(run, last, last);
    const int64_t from = (offset_of_record(run, begin[0]) + kBlock - 1) / kBlock * kBlock;
    const int64_t to = offset_of_record(run, end[0]) / kBlock * kBlock;
    if (from < to)
      ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
  }
}

}  // namespace ramet
