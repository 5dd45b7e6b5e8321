// Numbers in files, and untrusted text in error messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ramet {

// The decimal number that `text` is, all of it: digits only, no sign, no leading zero, at most
// 2^62 (so that one may be added). Anything else is nullopt.
[[nodiscard]] std::optional<int64_t> parse_count(std::string_view text);

// A number as 16 lower-case hexadecimal digits, and back; anything else is nullopt.
[[nodiscard]] std::string hex(uint64_t value);
[[nodiscard]] std::optional<uint64_t> parse_hex(std::string_view text);

// 'text', with every byte that is not printable ASCII as \xHH and cut after 80 bytes: what a
// damaged file holds must neither break a terminal nor be invalid UTF-8.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace ramet
