// Memory, mappings and threads that this program is refused: main.cc has malloc, mmap and
// pthread_create of its own, which all code of the program gets, the C++ library's included.
#pragma once

#include <cstdint>

namespace ramet::test {

enum class Refuse { kOne, kAllFrom };

// While it lives, the request with number `first` (from 0, over all threads) is refused, or all
// from there on.
class Refusals {
 public:
  Refusals(int64_t first, Refuse which);
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // Whether there were that many requests.
  [[nodiscard]] bool happened() const;
};

}  // namespace ramet::test
