// populate: brings pages into memory and into this process's page tables, by several threads.
//
// Whoever locks pages then finds them there, and is quick. The kernel is asked for a few MB at a
// time, since it holds back mmap() and munmap() of other threads meanwhile.
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace ramet {

struct PopulateOptions {
  bool writable = false;                          // pages are to be written, too
  int threads = 0;                                // at most; 0: hardware_threads()
  int (*advise)(void*, size_t, int) = ::madvise;  // of the kernel
};

// `begin` is the beginning of a page. Kernels before 5.14 lack the call, and some mappings do not
// take it: then the pages are read. kIo where a page cannot be read: its file was cut short, or its
// disk fails.
void populate(const void* begin, int64_t bytes, const PopulateOptions& options = {});

}  // namespace ramet
