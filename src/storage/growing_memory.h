// GrowingMemory: bytes that grow, and move when they do.
//
// With a folder they are pages of a file without a name there, which the kernel may write out;
// without, memory of this process alone. Disk is taken when they grow: a full one is an error then,
// and no SIGBUS later. Threads: one at a time. Forks: not for a child, which would share the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/system/posix.h"

namespace ramet {

class GrowingMemory {
 public:
  // `folder`: "" for none. `what`: how errors name it.
  GrowingMemory(const std::string& folder, std::string what);
  ~GrowingMemory();
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  // Makes room for `bytes`, more than is asked for; new ones are zeros. A call that throws changes
  // nothing. kNoSpace, kIo.
  void grow(int64_t bytes) {
    if (bytes > size_) grow_beyond(bytes);
  }
  // Gives back what is behind `bytes`.
  void shrink(int64_t bytes);
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] bool is_file() const { return static_cast<bool>(file_); }

 private:
  void grow_beyond(int64_t bytes);
  void remap(int64_t bytes);

  Fd file_;
  std::string what_;
  void* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace ramet
