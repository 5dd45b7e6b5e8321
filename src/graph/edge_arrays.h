// The edges that build_csc was given, and the form in which it moves them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "ramet/error.h"

namespace ramet {

// Without a branch in the loop, so that it becomes vector instructions: one of id and limit - id
// has its top bit set where the id is outside [0, limit].
template <typename T>
[[nodiscard]] bool all_below(std::span<const T> ids, int64_t bound) {
  using Word = std::make_unsigned_t<T>;
  if (bound == 0) return ids.empty();
  const auto limit =
      static_cast<Word>(std::min(bound - 1, static_cast<int64_t>(std::numeric_limits<T>::max())));
  Word seen = 0;
  for (const T given : ids) {
    const auto id = static_cast<Word>(given);
    seen |= id | (limit - id);
  }
  return static_cast<T>(seen) >= 0;
}

// Throws kOutOfRange, naming the first edge whose id is outside [0, bound). `first`: the number of
// the edge ids[0].
template <typename T>
void check_range(std::span<const T> ids, int64_t bound, const char* what, int64_t first = 0) {
  if (all_below(ids, bound)) return;
  for (const T& id : ids) {
    if (id < 0 || id >= bound) {
      throw_error(ErrorCode::kOutOfRange, what, " of edge ", first + (&id - ids.data()), " is ", id,
                  ", outside [0, ", bound, ")");
    }
  }
}

template <typename T>
struct EdgeArrays {
  std::span<const T> src, dst;
  bool undirected;

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(src.size()); }

  [[nodiscard]] bool in_range(int64_t begin,
                              int64_t count,
                              int64_t num_src,
                              int64_t num_dst) const {
    const auto first = static_cast<size_t>(begin), n = static_cast<size_t>(count);
    return all_below(src.subspan(first, n), num_src) && all_below(dst.subspan(first, n), num_dst);
  }

  // visit(source, destination, edge id) for the edges [begin, end) and, if undirected, their
  // reverses.
  template <typename Visit>
  void visit(int64_t begin, int64_t end, Visit&& visit) const {
    const T *s = src.data(), *d = dst.data();
    if (!undirected) {
      for (int64_t e = begin; e < end; ++e)
        visit(s[e], d[e], e);
      return;
    }
    for (int64_t e = begin; e < end; ++e) {
      visit(s[e], d[e], e);
      if (s[e] != d[e]) visit(d[e], s[e], size() + e);
    }
  }
};

// In place of an edge id where ids are not kept: no bytes.
struct NoId {
  NoId() = default;
  explicit NoId(int64_t) {}
  bool operator<(const NoId&) const { return false; }
};

// One edge on its way to its row, 8 to 20 bytes. `row` counts from the first row of the bucket.
#pragma pack(push, 4)
template <typename IndexType, typename IdType>
struct EdgeRecord {
  using Index = IndexType;
  using Id = IdType;
  uint32_t row;
  Index source;
  [[no_unique_address]] Id id;
};
#pragma pack(pop)
static_assert(sizeof(EdgeRecord<int32_t, NoId>) == 8);
static_assert(sizeof(EdgeRecord<int32_t, int32_t>) == 12);
static_assert(sizeof(EdgeRecord<int64_t, int64_t>) == 20);

}  // namespace ramet
