// The record of memory that the emulator has handed out, by addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace emulator {

struct Range {
  size_t bytes;
  int device;
};

// Disjoint ranges of addresses.
class Ranges {
 public:
  void insert(uintptr_t begin, Range range) { ranges_[begin] = range; }
  bool erase(uintptr_t begin) { return ranges_.erase(begin) != 0; }
  [[nodiscard]] bool overlaps(uintptr_t begin, size_t bytes) const {
    const auto next = ranges_.lower_bound(begin + bytes);
    if (next == ranges_.begin()) return false;
    const auto& [first, range] = *std::prev(next);
    return first + range.bytes > begin;
  }
  [[nodiscard]] const Range* find(uintptr_t address) const {
    const auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return nullptr;
    const auto& [first, range] = *std::prev(next);
    return address - first < range.bytes ? &range : nullptr;
  }
  // Whether ranges side by side have all of it.
  [[nodiscard]] bool covers(uintptr_t begin, size_t bytes) const {
    const uintptr_t end = begin + bytes;
    while (begin < end) {
      const auto next = ranges_.upper_bound(begin);
      if (next == ranges_.begin()) return false;
      const auto& [first, range] = *std::prev(next);
      if (begin - first >= range.bytes) return false;
      begin = first + range.bytes;
    }
    return true;
  }
  [[nodiscard]] uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& [first, range] : ranges_)
      sum += range.bytes;
    return sum;
  }
  [[nodiscard]] uint64_t bytes_of(int device) const {
    uint64_t sum = 0;
    for (const auto& [first, range] : ranges_)
      if (range.device == device) sum += range.bytes;
    return sum;
  }

 private:
  std::map<uintptr_t, Range> ranges_;
};

struct Memory {
  std::mutex mutex;
  Ranges device;
  Ranges pinned;
  Ranges registered;
  // Of the driver's calls: ranges of mapped pieces; and pieces, by handle.
  Ranges mapped;
  Ranges pieces;
};

Memory& memory();

inline uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

}  // namespace emulator
