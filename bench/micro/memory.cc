#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace ramet::bench {

HugeBuffer::HugeBuffer(size_t bytes) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) throw std::bad_alloc();
  madvise(data_, bytes, MADV_HUGEPAGE);  // without it, too, the benchmark works
  std::memset(data_, 1, bytes);
}

HugeBuffer::~HugeBuffer() {
  munmap(data_, bytes_);
}

}  // namespace ramet::bench
