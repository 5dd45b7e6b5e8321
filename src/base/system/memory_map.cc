#include "base/system/memory_map.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

namespace ramet {
namespace {

// Takes what is before the next `separator` off `text`, and the separator.
std::string_view next_field(std::string_view& text, char separator) {
  const std::string_view field = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(field.size() + 1, text.size()));
  return field;
}

template <typename Number>
bool parse(std::string_view field, int base, Number& number) {
  const auto result = std::from_chars(field.data(), field.data() + field.size(), number, base);
  return result.ec == std::errc() && result.ptr == field.data() + field.size();
}

// The kernel writes a line feed in a name as "\012", and nothing else so.
std::string unescaped(std::string_view name) {
  std::string result;
  for (size_t at = 0; at < name.size();) {
    const bool is_line_feed = name.substr(at, 4) == "\\012";
    result += is_line_feed ? '\n' : name[at];
    at += is_line_feed ? 4 : 1;
  }
  return result;
}

// "7f3c00000000-7f3c80000000 r--s 00001000 fe:00 131 /data/feat.npy".
std::optional<MappedRange> parse_line(std::string_view line) {
  MappedRange mapping;
  if (!parse(next_field(line, '-'), 16, mapping.begin)) return std::nullopt;
  if (!parse(next_field(line, ' '), 16, mapping.end)) return std::nullopt;
  mapping.permissions = next_field(line, ' ');
  if (!parse(next_field(line, ' '), 16, mapping.offset)) return std::nullopt;
  mapping.device = next_field(line, ' ');
  if (!parse(next_field(line, ' '), 10, mapping.inode)) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = unescaped(line);
  return mapping;
}

bool continues(const MappedRange& first, const MappedRange& second) {
  const auto size = static_cast<int64_t>(first.end - first.begin);
  return first.end == second.begin && first.inode == second.inode && first.inode != 0 &&
         first.device == second.device && first.permissions == second.permissions &&
         first.offset + size == second.offset;
}

}  // namespace

std::vector<MappedRange> parse_maps(std::string_view maps, uint64_t begin, uint64_t end) {
  std::vector<MappedRange> found;
  while (!maps.empty()) {
    const auto mapping = parse_line(next_field(maps, '\n'));
    if (!mapping || mapping->end <= begin || mapping->begin >= end) continue;
    if (!found.empty() && continues(found.back(), *mapping))
      found.back().end = mapping->end;
    else
      found.push_back(*mapping);
  }
  return found;
}

std::vector<MappedRange> mapped_ranges(const void* data, int64_t bytes, const std::string& root) {
  std::ifstream file(root + "/proc/self/maps", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = reinterpret_cast<uint64_t>(data);
  return parse_maps(text, begin, begin + static_cast<uint64_t>(bytes));
}

}  // namespace ramet
