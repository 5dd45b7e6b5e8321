// Files opened for reading: nothing else maps memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/system/posix.h"
#include "ramet/store.h"

namespace ramet {

class InputFile {
 public:
  // Opens `name` in the folder of descriptor `folder`; `location` is how errors name the file.
  // Follows links. What is no regular file is kCorrupt; a FIFO does not block.
  InputFile(int folder, const std::string& name, std::string location);
  InputFile(Fd fd, std::string location);

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] Identity identity() const { return identity_; }
  [[nodiscard]] const std::string& location() const { return location_; }

  // Exactly the bytes [offset, offset + size); kCorrupt if the file ends before.
  [[nodiscard]] std::string read(int64_t offset, int64_t size) const;
  void read_into(void* data, int64_t offset, int64_t size) const;

  // The whole file, which must not be empty. The mapping lives as long as the pointer, and needs
  // neither the InputFile nor, once it is there, the file's name.
  [[nodiscard]] std::shared_ptr<std::byte> map(OpenMode mode) const;

  // Its bytes [offset, offset + size) at `address`, in place of what is there. `address` and
  // `offset` are multiples of the page size.
  void map_at(std::byte* address, int64_t offset, int64_t size, OpenMode mode) const;

  // Gives up the descriptor, for a caller that keeps it.
  [[nodiscard]] Fd release() && { return std::move(fd_); }

 private:
  Fd fd_;
  std::string location_;
  int64_t size_ = 0;
  Identity identity_{0, 0};
};

// Memory of this process alone, zeros; `size` is not 0. kNoSpace if there is none.
[[nodiscard]] std::shared_ptr<std::byte> map_memory(int64_t size, const std::string& location);
// The same at `address`, on a page, in place of what is there.
void map_memory_at(std::byte* address, int64_t size, const std::string& location);

}  // namespace ramet
