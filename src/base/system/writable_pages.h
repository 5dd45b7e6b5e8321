// WritablePages: read-only pages of shared memory, writable for a scope.
//
// Many NVIDIA drivers lock no pages for reading alone (cudaDevAttrHostRegisterReadOnlySupported is
// 0). They lock pages that could be written. Pages that are locked stay so once they are read-only
// again, and nobody need write to them.
//
// Where their descriptor could not write, the pages are mapped anew, at their addresses, from one
// that can; who reads them meanwhile sees the same bytes. This is for memory that the kernel writes
// to no disk (tmpfs, memfd). Linux locks no pages of other files for writing, and writable pages of
// private mappings would become copies.
//
// Threads: one at a time for the same pages. Failure: why_not() says it; it and std::bad_alloc
// leave all pages read-only as before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/system/mapping.h"

namespace ramet {

class WritablePages {
 public:
  // All pages of [begin, begin + bytes), which are mapped. Those that are writable anyhow stay.
  WritablePages(const void* begin, int64_t bytes);
  ~WritablePages();
  WritablePages(const WritablePages&) = delete;
  WritablePages& operator=(const WritablePages&) = delete;

  // Empty where they are writable: "'/data/feat.npy' is on ext4".
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  WritablePages() = default;

  struct Pages {
    void* begin;
    size_t bytes;
  };
  [[nodiscard]] bool make_writable(const Mapping& mapping, const Pages& pages);
  void make_read_only() noexcept;

  std::vector<Pages> made_;
  std::string why_not_;
};

}  // namespace ramet
