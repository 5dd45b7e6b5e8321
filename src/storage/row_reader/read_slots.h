// Memory that requests read to: slots of one size, each at a multiple of 4 KiB.
//
// Pages are taken when they are first used. A forked child does not get them: a page that it shared
// while the disk writes to it could be the child's afterwards, and the parent's row be lost.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/mapped_file.h"
#include "storage/segment.h"

namespace ramet {

class ReadSlots {
 public:
  // kNoSpace if there is no memory.
  ReadSlots(int64_t count, int64_t slot_bytes)
      : count_(count),
        stride_(round_up(slot_bytes, 4096)),
        memory_(map_memory(count_ * stride_, "a reader of rows")) {
    ::madvise(memory_.get(), static_cast<size_t>(bytes()), MADV_DONTFORK);
  }

  [[nodiscard]] std::byte* operator[](int64_t slot) const { return memory_.get() + slot * stride_; }
  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] int64_t stride() const { return stride_; }
  [[nodiscard]] int64_t bytes() const { return count_ * stride_; }

 private:
  int64_t count_, stride_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace ramet
