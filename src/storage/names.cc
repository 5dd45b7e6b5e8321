// Names of types and tables as they stand in file names: docs/format.md, section 3.
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "ramet/error.h"
#include "ramet/store.h"
#include "text.h"

namespace ramet {

namespace {

constexpr size_t kMaxNameBytes = 80;
constexpr char kHexDigits[] = "0123456789ABCDEF";

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// An underscore stays only between two other characters, so "__" never comes out of a name.
bool must_escape(const std::string& name, size_t i) {
  if (!is_plain(name[i])) return true;
  if (name[i] == '.') return i == 0;
  if (name[i] != '_') return false;
  return i == 0 || i + 1 == name.size() || name[i - 1] == '_';
}

std::string escape(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (must_escape(name, i)) {
      const auto byte = static_cast<unsigned char>(name[i]);
      out += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    } else {
      out += name[i];
    }
  }
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The inverse of escape() on what escape() returns; on other input anything, which the caller
// finds out by escaping again.
std::string unescape(const std::string& encoded) {
  std::string out;
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] == '%' && i + 2 < encoded.size()) {
      const int byte = hex_value(encoded[i + 1]) * 16 + hex_value(encoded[i + 2]);
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += encoded[i];
    }
  }
  return out;
}

// Why `name` cannot be a name, or "".
std::string problem(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameBytes)
    return concat("has ", name.size(), " bytes, at most ", kMaxNameBytes, " are possible");
  if (!is_utf8(name)) return "is not UTF-8";
  return "";
}

}  // namespace

std::string encode_name(const std::string& name) {
  const std::string why = problem(name);
  if (!why.empty()) throw_invalid("the name ", quoted(name), " ", why);
  return escape(name);
}

std::string decode_name(const std::string& encoded) {
  const std::string name = unescape(encoded);
  if (escape(name) != encoded)
    throw_error(ErrorCode::kCorrupt, quoted(encoded), " is not an encoded name");
  const std::string why = problem(name);
  if (!why.empty())
    throw_error(ErrorCode::kCorrupt, "the encoded name ", quoted(encoded), " ", why);
  return name;
}

}  // namespace ramet
