// The edges that build_csc was given, and the form in which it moves them.
#pragma once

#include <cstdint>
#include <span>

namespace ramet {

template <typename T>
struct EdgeList {
  std::span<const T> src, dst;
  bool undirected;

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(src.size()); }

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
