// Pages that are mapped for a test.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstddef>
#include <memory>

namespace ramet::test {

inline std::shared_ptr<char> map_pages(size_t bytes,
                                       int protection,
                                       int flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                       int fd = -1) {
  void* const data = ::mmap(nullptr, bytes, protection, flags, fd, 0);
  REQUIRE(data != MAP_FAILED);
  return {static_cast<char*>(data), [bytes](char* at) { ::munmap(at, bytes); }};
}

}  // namespace ramet::test
