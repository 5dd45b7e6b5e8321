// HugeVector: a std::vector for memory that is read at random. From 2 MiB on it asks the kernel for
// pages of 2 MiB, so that a read seldom waits for its address to be translated.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace ramet {

template <typename T>
struct HugePages {
  using value_type = T;
  static constexpr size_t kPage = size_t{2} << 20;

  HugePages() = default;
  template <typename Other>
  HugePages(const HugePages<Other>&) {}  // NOLINT(google-explicit-constructor): as allocators do
  bool operator==(const HugePages&) const = default;

  [[nodiscard]] T* allocate(size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    const size_t bytes = count * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
    void* const data = ::operator new(bytes, std::align_val_t(kPage));
    ::madvise(data, bytes, MADV_HUGEPAGE);  // a hint
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t count) noexcept {
    if (count * sizeof(T) < kPage)
      ::operator delete(data);
    else
      ::operator delete(data, std::align_val_t(kPage));
  }
};

template <typename T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace ramet
