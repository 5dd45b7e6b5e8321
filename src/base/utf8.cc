#include "base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ramet {
namespace {

// Bytes that follow this first byte of a UTF-8 sequence; -1 if none begins with it.
int utf8_tail(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first <= 0xDF) return 1;
  if (first >= 0xE0 && first <= 0xEF) return 2;
  if (first >= 0xF0 && first <= 0xF4) return 3;
  return -1;
}

// Overlong forms, surrogates and code points above U+10FFFF, told by the second byte.
bool bad_second_byte(unsigned char first, unsigned char second) {
  return (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
         (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
}

// The first byte from `i` on in a word of 8 that is not all ASCII.
size_t skip_ascii(std::string_view text, size_t i) {
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  return i;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t i = skip_ascii(text, 0); i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int tail = utf8_tail(first);
    if (tail < 0 || text.size() - i <= static_cast<size_t>(tail)) return false;
    for (int k = 1; k <= tail; ++k) {
      const auto byte = static_cast<unsigned char>(text[++i]);
      if ((byte & 0xC0) != 0x80) return false;
      if (k == 1 && bad_second_byte(first, byte)) return false;
    }
  }
  return true;
}

}  // namespace ramet
