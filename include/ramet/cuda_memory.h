// HostRegistration: page-locks the memory of a host Array, so that kernels of every device of this
// process read it in place, over PCIe. With many processes each registers the same physical pages.
//
// A value: copies share what is locked, and the last of them releases it. While it is locked the
// Array's owner lives; memory without an owner must outlive every HostRegistration that covers a
// page of it. Kernels must be done with the memory when the last copy dies.
//
// CUDA locks whole pages, and none twice. So a process has one record of what is locked: what is
// asked for a second time, or lies in pages that others have locked in part, shares these and locks
// the rest. Memory that somebody else has page-locked (torch's pin_memory()) is used as it is.
// A read-only Array is locked for reading: such are the mappings of a store, which no kernel may
// write. That brings all of it into memory, once for all processes.
//
// Threads: any. Forks: the record of a child is empty, and what it inherits releases nothing there.
// Failure: kDevice where CUDA refuses, naming the array, the reason and the limit on locked memory
// where that may be it; kInvalidArgument for memory of a device, and for writing to pages that are
// locked for reading.
#pragma once

#include <cstdint>
#include <memory>

#include "ramet/array.h"

namespace ramet {

class HostRegistration {
 public:
  HostRegistration() = default;  // of nothing
  // For writing by kernels, too, where `array` is writable.
  explicit HostRegistration(const Array& array);

  [[nodiscard]] const Array& array() const { return array_; }
  // Where kernels of `device` find array().data; nullptr for an Array of no bytes.
  [[nodiscard]] void* address(int device) const;

  // Bytes that this process has locked by registration now, in whole pages.
  [[nodiscard]] static int64_t registered_bytes();

 private:
  class Hold;
  Array array_;
  std::shared_ptr<const Hold> hold_;
};

}  // namespace ramet
