// A ring of io_uring, as one thread uses it to read or to write.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <span>

namespace ramet {

class Ring {
 public:
  // For `entries` requests of `operation` (IORING_OP_...) at once, with the first of `flags` that
  // the kernel takes. Where it refuses all, or does not know the operation, error() says why.
  Ring(unsigned entries, std::span<const unsigned> flags, int operation);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  [[nodiscard]] int error() const { return error_; }  // errno, or 0
  io_uring* get() { return &ring_; }

  // Hands what was prepared to the kernel and waits for some of `under_way` requests; may return
  // before, and is then to be called again. Returns the errno of a ring that does not work, or 0. A
  // kernel that is short of memory is asked again, while it has requests that may end, and then for
  // about half a second.
  [[nodiscard]] int submit_and_wait(size_t under_way);
  // Requests that are prepared, and not with the kernel.
  [[nodiscard]] size_t unsubmitted() const { return io_uring_sq_ready(&ring_); }

 private:
  int make(unsigned entries, unsigned flags);
  [[nodiscard]] bool knows(int operation);

  io_uring ring_{};
  bool is_made_ = false;
  int error_ = 0;
  int refusals_ = 0;  // in a row
};

// A moment, for a kernel that is to get on with something.
void wait_a_moment();

}  // namespace ramet
