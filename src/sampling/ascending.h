// Ascending numbers, searched and kept without branches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ramet {

// The first of `size` ascending `sums` that exceeds `value`; the last exceeds it. By masks, for
// nobody can predict the branches.
inline int64_t first_above(const double* sums, size_t size, double value) {
  size_t first = 0;
  while (size > 1) {
    const size_t half = size / 2;
    first += half & (0 - static_cast<size_t>(sums[first + half - 1] <= value));
    size -= half;
  }
  return static_cast<int64_t>(first);
}

inline constexpr size_t kMostRanked = 32;

// Of up to kMostRanked numbers below 2^32 - 1: calls write(rank, number) for each. Each is compared
// with each, in vectors, for nobody can predict the branches of a sort.
template <typename Write>
void rank_few(const uint32_t (&numbers)[kMostRanked], size_t count, Write&& write) {
  constexpr size_t kTogether = 8;
  for (size_t first = 0; first < count; first += kTogether) {
    uint32_t of_lane[kTogether], rank[kTogether] = {};
    for (size_t lane = 0; lane < kTogether; ++lane)
      of_lane[lane] = numbers[first + lane];
    for (size_t j = 0; j < count; ++j) {
      for (size_t lane = 0; lane < kTogether; ++lane) {
        const uint32_t equal_too = first + lane > j ? 1 : 0;
        rank[lane] += numbers[j] < of_lane[lane] + equal_too ? 1 : 0;
      }
    }
    for (size_t lane = 0; lane < std::min(kTogether, count - first); ++lane)
      write(rank[lane], of_lane[lane]);
  }
}

// Up to kMost numbers from 0 on, ascending. By masks as well.
template <size_t kMost>
class FewAscending {
 public:
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(size_); }
  [[nodiscard]] const int64_t* begin() const { return values_.data(); }
  [[nodiscard]] const int64_t* end() const { return values_.data() + size_; }
  void clear() { size_ = 0; }
  [[nodiscard]] bool contains(int64_t x) const {
    bool found = false;
    for (size_t i = 0; i < size_; ++i)
      found |= values_[i] == x;
    return found;
  }
  void insert(int64_t x) {
    for (size_t i = 0; i < size_; ++i) {
      const int64_t value = values_[i], below = value - x, change = below & (below >> 63);
      values_[i] = x + change;
      x = value - change;
    }
    values_[size_++] = x;
  }

 private:
  std::array<int64_t, kMost> values_ = {};
  size_t size_ = 0;
};

}  // namespace ramet
