#include "smaps.h"

#include <algorithm>
#include <charconv>

namespace ramet {

namespace {

// Takes the first line off `text`.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// "7f3c00000000-7f3c80000000 r--s ...": the line that opens a mapping.
bool parse_range(std::string_view line, Addresses& range) {
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, range.begin, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return false;
  const auto second = std::from_chars(first.ptr + 1, end, range.end, 16);
  return second.ec == std::errc() && second.ptr != end && *second.ptr == ' ';
}

// "Rss:   120 kB" for the key "Rss", in bytes; 0 for other lines.
int64_t parse_kilobytes(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) return 0;
  const size_t digits = line.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  int64_t kilobytes = 0;
  std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
  return kilobytes * 1024;
}

}  // namespace

PageUse parse_smaps(std::string_view smaps, std::span<const Addresses> ranges) {
  PageUse use;
  bool wanted = false;
  while (!smaps.empty()) {
    const std::string_view line = next_line(smaps);
    Addresses mapping{};
    if (parse_range(line, mapping)) {
      wanted = std::any_of(ranges.begin(), ranges.end(), [&](const Addresses& range) {
        return range.begin < mapping.end && mapping.begin < range.end;
      });
    } else if (wanted) {
      use.mapped += parse_kilobytes(line, "Size");
      use.resident += parse_kilobytes(line, "Rss");
      for (const char* kind : {"AnonHugePages", "ShmemPmdMapped", "FilePmdMapped"})
        use.huge += parse_kilobytes(line, kind);
    }
  }
  return use;
}

int64_t parse_status(std::string_view status, std::string_view key) {
  int64_t bytes = 0;
  while (!status.empty())
    bytes += parse_kilobytes(next_line(status), key);
  return bytes;
}

}  // namespace ramet
