// RunFile: records in a temporary file, in runs. A run is what memory held at once, grouped by
// bucket; a bucket's records, from run to run, are in the order in which they were written.
//
// A run has room for as many records as any, so that its offset is known without a list of offsets:
// in front where its buckets begin, int64[buckets + 1], counted in records; then the records. Room
// that is not used takes no disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/system/posix.h"

namespace ramet {

class RunFile {
 public:
  // Without a name, on the file system of `folder`. `most_records`: of a run.
  RunFile(const std::string& folder,
          int64_t num_buckets,
          int64_t record_bytes,
          int64_t most_records);

  [[nodiscard]] int64_t runs() const { return runs_; }
  // Of all runs.
  [[nodiscard]] int64_t records_of(int64_t bucket) const {
    return records_of_[static_cast<size_t>(bucket)];
  }
  [[nodiscard]] int64_t records() const { return records_; }

  // Bucket b has the records [begin[b], begin[b + 1]). kNoSpace, kIo.
  void write(const std::vector<int64_t>& begin, const void* records);

  // visit(bucket, first of some records, how many) for all records of buckets [first, last) of a
  // run, in order, through `piece`. Several threads at once.
  void read(int64_t run,
            int64_t first,
            int64_t last,
            std::span<std::byte> piece,
            FunctionRef<void(int64_t bucket, const std::byte* records, int64_t count)> visit) const;

  // Gives the disk under these buckets back, as far as the file system can.
  void release(int64_t first, int64_t last) const;

  // Where things are in the file.
  [[nodiscard]] int64_t offset_of_begin(int64_t run, int64_t bucket) const {
    return run * stride_ + bucket * int64_t{sizeof(int64_t)};
  }
  [[nodiscard]] int64_t offset_of_record(int64_t run, int64_t record) const {
    return offset_of_begin(run, num_buckets_ + 1) + record * record_bytes_;
  }

 private:
  [[nodiscard]] std::vector<int64_t> begins(int64_t run, int64_t first, int64_t last) const;
  void read_records(int64_t run, int64_t begin, int64_t end, void* to) const;
  void read_at(int64_t offset, int64_t bytes, void* to) const;

  int64_t num_buckets_, record_bytes_, stride_;
  int64_t runs_ = 0, records_ = 0;
  std::vector<int64_t> records_of_;
  std::string location_;
  Fd file_;
};

}  // namespace ramet
