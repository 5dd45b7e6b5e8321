// Memory as the benchmarks need it: on 2 MiB pages where the machine gives them, touched
// beforehand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ramet::bench {

// Owns its bytes; every page has been written.
class HugeBuffer {
 public:
  explicit HugeBuffer(size_t bytes);
  ~HugeBuffer();
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;

  template <typename T = char>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  void* data_;
  size_t bytes_;
};

// Writes `bytes` bytes past the caches, which spares reading what is overwritten. `out` is aligned
// to 16 bytes, and `bytes` a multiple of 16.
void stream_write(void* out, size_t bytes);

}  // namespace ramet::bench
