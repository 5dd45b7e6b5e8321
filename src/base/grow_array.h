// GrowArray: an array that keeps its memory and does not clear what it grows by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

namespace ramet {

template <typename T>
class GrowArray {
 public:
  // Makes room for `size` elements; the first `kept` of those there stay.
  void reserve(size_t size, size_t kept) {
    if (size <= capacity_) return;
    const size_t wanted = std::max(size, 2 * capacity_);
    auto grown = std::make_unique_for_overwrite<T[]>(wanted);  // may throw: changes nothing
    std::copy_n(data_.get(), kept, grown.get());
    data_ = std::move(grown);
    capacity_ = wanted;
  }
  [[nodiscard]] T* data() const { return data_.get(); }

 private:
  std::unique_ptr<T[]> data_;
  size_t capacity_ = 0;
};

}  // namespace ramet
