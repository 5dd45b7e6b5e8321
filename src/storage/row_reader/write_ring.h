// Writes of one caller by a ring of io_uring: many under way at once, without a thread for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace ramet {

// What is to be written: `size` bytes at `offset`, which fill(buffer) makes.
struct RingWrite {
  int64_t offset = 0, size = 0;
};

class WriteRing {
 public:
  WriteRing() = default;
  WriteRing(const WriteRing&) = delete;
  WriteRing& operator=(const WriteRing&) = delete;
  virtual ~WriteRing() = default;

  // Does writes 0, ..., count - 1, of which prepare(i, buffer) says each, after it has put its
  // bytes there. Returns the errno of one that failed, and which; else 0. One call at a time.
  struct Failure {
    size_t write = 0;
    int error = 0;
  };
  [[nodiscard]] virtual Failure write(
      int file,
      size_t count,
      const std::function<RingWrite(size_t i, std::byte* buffer)>& prepare) = 0;
  // False once the kernel has refused to go on, which was the failure of a call: not to be used any
  // more.
  [[nodiscard]] virtual bool works() const = 0;
};

// With buffers of `most_bytes`; nullptr where the kernel refuses or is too old, or this build knows
// no io_uring.
[[nodiscard]] std::unique_ptr<WriteRing> make_write_ring(int64_t most_bytes);

}  // namespace ramet
