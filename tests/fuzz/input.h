// What the fuzz targets share: the input as numbers and bytes, and what may come of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ramet/error.h"

namespace ramet::fuzz {

// Takes numbers and text from the front; what is not there is 0 or empty.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t byte() {
    const std::string_view one = text(1);
    return one.empty() ? uint8_t{0} : static_cast<uint8_t>(one[0]);
  }
  uint16_t word() {
    const int low = byte();
    return static_cast<uint16_t>(low + 256 * byte());
  }
  std::string_view text(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return text(rest_.size()); }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Whether body() came to its end; an Error with words is as good, anything else ends the program.
template <typename Body>
bool succeeds(const Body& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (std::string_view(error.what()).empty()) std::abort();
    return false;
  }
}

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace ramet::fuzz
