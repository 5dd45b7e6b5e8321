// SharedMemory: memory that several processes read and write, as a descriptor without a name.
//
// Memory: the kernel keeps it while a process has its descriptor or a mapping of it, so that
// nothing is left once all are gone, however they ended. Creation reserves all of it, in pages of 2
// MiB if the kernel provides them, and seals its size: no access fails later. Threads and forks:
// immutable; a forked child has the same memory. Failure: kNoSpace without enough memory;
// kInvalidArgument for any other descriptor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "ramet/array.h"

namespace ramet {

class SharedMemory {
 public:
  // Zeros.
  [[nodiscard]] static SharedMemory create(int64_t bytes);
  // Memory of another process. Keeps a duplicate of `fd`.
  [[nodiscard]] static SharedMemory open(int fd);

  [[nodiscard]] int fd() const;
  [[nodiscard]] int64_t bytes() const;
  // Device and inode: the identity of the memory behind any descriptor.
  [[nodiscard]] std::pair<uint64_t, uint64_t> identity() const;

 private:
  struct State;
  explicit SharedMemory(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

// Where a piece lies in a range of addresses.
struct PlacedMemory {
  SharedMemory memory;
  int64_t offset = 0;  // bytes; a multiple of the page size
};

// The pieces in one range of addresses of `bytes` bytes, for reading and writing, in ascending
// order and not overlapping. Keeps the memory alive.
[[nodiscard]] std::shared_ptr<std::byte> map_side_by_side(std::span<const PlacedMemory> pieces,
                                                          int64_t bytes);

}  // namespace ramet
