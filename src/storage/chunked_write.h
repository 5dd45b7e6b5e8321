// Writing big arrays in chunks that end on multiples of 2 MiB of the file: from such writes file
// systems build 2 MiB folios, which can be mapped with huge pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ramet/store_writer.h"

namespace ramet {

// Adds up chunks for a Progress.
class ProgressCount {
 public:
  ProgressCount(const Progress& progress, int64_t total) : progress_(progress), total_(total) {
    add(0);
  }
  void add(int64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

 private:
  const Progress& progress_;
  int64_t total_;
  int64_t done_ = 0;
};

// Writes `head` and behind it `size` bytes of `data` at `offset` of the file. Counts the bytes of
// `data` after every chunk. `location` is how errors name the file.
void write_chunks(int fd,
                  int64_t offset,
                  std::string_view head,
                  const void* data,
                  int64_t size,
                  const std::string& location,
                  ProgressCount& count);

}  // namespace ramet
