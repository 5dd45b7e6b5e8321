#include "text.h"

#include <charconv>

namespace ramet {

std::optional<int64_t> parse_count(std::string_view text) {
  constexpr int64_t kMaxCount = int64_t{1} << 62;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  if (text[0] == '0' && text.size() > 1) return std::nullopt;
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || parsed_to != end || value > kMaxCount) return std::nullopt;
  return value;
}

std::string hex(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += kDigits[value >> shift & 15];
  return text;
}

std::optional<uint64_t> parse_hex(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || parsed_to != end || text != hex(value)) return std::nullopt;
  return value;
}

std::string quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kMaxLength = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kMaxLength)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out + (text.size() > kMaxLength ? "...'" : "'");
}

}  // namespace ramet
