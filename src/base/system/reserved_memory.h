// ReservedMemory: addresses for as many bytes as there may ever be, of which memory is taken when
// it is used first. What lies in it never moves while it grows.
//
// A forked child does not have it, so that neither process pays for pages that the other changes:
// the child must not touch it. One thread grows it at a time; the bytes are the caller's to order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ramet {

class ReservedMemory {
 public:
  // kNoSpace, naming `what`, where there are not so many addresses.
  ReservedMemory(int64_t most_bytes, std::string what);
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  // The first `bytes`, at most those reserved, may be used; new ones are zeros. kNoSpace.
  void grow(int64_t bytes);
  // Of memory that was taken; all that may be used, where the kernel does not say.
  [[nodiscard]] int64_t taken_bytes() const;

 private:
  std::string what_;
  int64_t most_bytes_, usable_ = 0;
  std::byte* data_ = nullptr;
  int64_t process_;
};

}  // namespace ramet
