// A segment in few bytes: arrays lie on pages of their own, which are nearly empty. Packed are the
// number of pages and of bytes behind them, the segment's beginning, and the first bytes of each
// further page.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "input.h"
#include "storage/segment.h"

namespace ramet::fuzz {

inline constexpr size_t kPage = static_cast<size_t>(kSegmentAlignment), kMostPages = 32,
                        kPiece = 96;

inline std::string unpack(Input& input) {
  const size_t pages = input.byte() % kMostPages, tail = input.word() % kPage;
  const size_t head_size = input.word() % kPage;
  std::string bytes(pages * kPage + tail, '\0');
  const auto put = [&](size_t at, std::string_view text) {
    if (at < bytes.size())
      bytes.replace(at, std::min(text.size(), bytes.size() - at), text, 0,
                    std::min(text.size(), bytes.size() - at));
  };
  put(0, input.text(head_size));
  for (size_t page = 1; !input.empty() && page < kMostPages; ++page)
    put(page * kPage, input.text(kPiece));
  return bytes;
}

// Only for segments that unpack() gives.
inline std::string pack(const std::string& bytes, size_t head_size) {
  std::string packed;
  const auto add = [&](size_t number, int count) {
    for (int i = 0; i < count; ++i)
      packed += static_cast<char>(number >> 8 * i & 255);
  };
  add(bytes.size() / kPage, 1);
  add(bytes.size() % kPage, 2);
  add(head_size, 2);
  packed += bytes.substr(0, head_size);
  for (size_t page = kPage; page < bytes.size(); page += kPage) {
    std::string piece = bytes.substr(page, kPiece);
    piece.resize(kPiece);
    packed += piece;
  }
  return packed;
}

}  // namespace ramet::fuzz
