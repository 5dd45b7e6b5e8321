// How lists of rows are packed (ramet/row_exchange.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "ramet/error.h"
#include "ramet/row_exchange.h"

namespace ramet {

inline constexpr int64_t kWord = sizeof(int64_t);
inline constexpr int64_t kWordsOfList = 2;

constexpr int64_t padded_to_pack_unit(int64_t bytes) {
  return (bytes + kPackUnit - 1) / kPackUnit * kPackUnit;
}

constexpr int64_t head_bytes(int64_t lists) {
  return padded_to_pack_unit((1 + kWordsOfList * lists) * kWord);
}

inline void check_list(const RowList& list) {
  if (list.rows.rows() != std::ssize(list.ids))
    throw_invalid(list.rows.describe(), " rows for ", list.ids.size(), " ids");
}

// Of lists with `counts` ids each; returns the end.
inline std::byte* write_head(std::span<const RowList> lists,
                             std::span<const int64_t> counts,
                             std::byte* out) {
  const int64_t bytes = head_bytes(std::ssize(lists));
  std::memset(out, 0, static_cast<size_t>(bytes));
  auto* words = reinterpret_cast<int64_t*>(out);
  *words++ = std::ssize(lists);
  for (size_t i = 0; i < lists.size(); ++i) {
    *words++ = counts[i];
    *words++ = static_cast<int64_t>(lists[i].rows.dtype);
  }
  return out + bytes;
}

}  // namespace ramet
