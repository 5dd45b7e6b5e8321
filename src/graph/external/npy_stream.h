// NpyStream: an .npy file of one dimension that is written from front to back. How many rows it has
// is said at the end.
#pragma once

#include <cstdint>
#include <string>

#include "base/system/posix.h"
#include "ramet/array.h"

namespace ramet {

class NpyStream {
 public:
  // Makes the file, or empties it. The destructor removes it unless it was finished.
  explicit NpyStream(std::string path);
  ~NpyStream();
  NpyStream(const NpyStream&) = delete;
  NpyStream& operator=(const NpyStream&) = delete;

  void append(const void* data, int64_t bytes);
  void finish(DType dtype);
  void keep() { kept_ = true; }

 private:
  std::string path_;
  Fd file_;
  int64_t end_;
  bool kept_ = false;
};

}  // namespace ramet
