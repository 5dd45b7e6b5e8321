// Edge list to CSC by a stable counting sort on the destination: count the edges of every row, turn
// counts into offsets, then place each edge at its row's cursor. Stability makes the result unique.
//
// For undirected graphs every edge is visited in both directions; the rows are then sorted by
// (source, id) and only the first edge of each source is kept.
#include "ramet/csc.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/parallel.h"

namespace ramet {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxNodes = int64_t{1} << 48;
constexpr int64_t kRowGrain = 1 << 12;

DType width_for(int64_t count) {
  return count <= kMaxInt32 ? DType::kInt32 : DType::kInt64;
}

Array allocate(DType dtype, int64_t n) {
  return BufferPool::create()->allocate_array(dtype, {n});
}

template <typename T>
T* mutable_data(const Array& array) {
  return static_cast<T*>(array.data);
}

template <typename T>
struct EdgeList {
  std::span<const T> src, dst;
  bool undirected;

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(src.size()); }

  // visit(source, destination, edge id) in the order of ids.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (size_t e = 0; e < src.size(); ++e)
      visit(src[e], dst[e], static_cast<int64_t>(e));
    if (!undirected) return;
    for (size_t e = 0; e < src.size(); ++e) {
      if (src[e] != dst[e]) visit(dst[e], src[e], size() + static_cast<int64_t>(e));
    }
  }
};

template <typename T>
void check_range(std::span<const T> ids, int64_t bound, const char* what) {
  for (size_t e = 0; e < ids.size(); ++e) {
    if (static_cast<uint64_t>(ids[e]) >= static_cast<uint64_t>(bound)) {
      throw Error(ErrorCode::kOutOfRange, std::string(what) + " of edge " + std::to_string(e) +
                                              " is " + std::to_string(ids[e]) + ", outside [0, " +
                                              std::to_string(bound) + ")");
    }
  }
}

template <typename T>
Array count_rows(const EdgeList<T>& edges, int64_t num_dst) {
  Array indptr = allocate(DType::kInt64, num_dst + 1);
  auto* offsets = mutable_data<int64_t>(indptr);
  std::fill_n(offsets, num_dst + 1, 0);
  edges.for_each([&](T, T d, int64_t) { ++offsets[d + 1]; });
  std::partial_sum(offsets, offsets + num_dst + 1, offsets);
  return indptr;
}

// place(position, source, edge id) for every edge, at its place in the sorted order.
template <typename T, typename Place>
void for_each_place(const EdgeList<T>& edges, const Array& indptr, Place&& place) {
  const auto offsets = indptr.as<int64_t>();
  std::vector<int64_t> cursor(offsets.begin(), offsets.end() - 1);
  edges.for_each([&](T s, T d, int64_t id) { place(cursor[static_cast<size_t>(d)]++, s, id); });
}

template <typename Index, typename Id>
struct Entry {
  Index source;
  Id id;
  bool operator<(const Entry& other) const {
    return source != other.source ? source < other.source : id < other.id;
  }
};

// Sorts each row by (source, id), keeps the first edge of each source, and closes the gaps.
template <typename Index, typename Id>
void deduplicate(Csc& csc) {
  auto* offsets = mutable_data<int64_t>(csc.indptr);
  auto* indices = mutable_data<Index>(csc.indices);
  auto* ids = csc.edge_ids.data == nullptr ? nullptr : mutable_data<Id>(csc.edge_ids);
  const int64_t num_rows = csc.indptr.rows() - 1;
  std::vector<int64_t> kept(static_cast<size_t>(num_rows));
  parallel_for(num_rows, kRowGrain, 0, [&](int64_t begin, int64_t end) {
    std::vector<Entry<Index, Id>> row;
    for (int64_t v = begin; v < end; ++v) {
      const int64_t first = offsets[v];
      row.clear();
      for (int64_t p = first; p < offsets[v + 1]; ++p) {
        row.push_back({indices[p], ids == nullptr ? Id{0} : ids[p]});
      }
      std::sort(row.begin(), row.end());
      const auto last = std::unique(row.begin(), row.end(), [](const auto& a, const auto& b) {
        return a.source == b.source;
      });
      kept[static_cast<size_t>(v)] = last - row.begin();
      for (int64_t i = 0; i < kept[static_cast<size_t>(v)]; ++i) {
        indices[first + i] = row[static_cast<size_t>(i)].source;
        if (ids != nullptr) ids[first + i] = row[static_cast<size_t>(i)].id;
      }
    }
  });
  int64_t out = 0;
  for (int64_t v = 0; v < num_rows; ++v) {
    const int64_t first = offsets[v], count = kept[static_cast<size_t>(v)];
    std::copy_n(indices + first, count, indices + out);
    if (ids != nullptr) std::copy_n(ids + first, count, ids + out);
    offsets[v] = out;
    out += count;
  }
  offsets[num_rows] = out;
  csc.indices.shape = {out};
  if (ids != nullptr) csc.edge_ids.shape = {out};
}

void drop_identity_ids(Csc& csc) {
  if (csc.edge_ids.data == nullptr) return;
  const bool identity = with_ids(csc.edge_ids, [](auto ids) {
    for (size_t p = 0; p < ids.size(); ++p) {
      if (static_cast<size_t>(ids[p]) != p) return false;
    }
    return true;
  });
  if (identity) csc.edge_ids = {};
}

template <typename T, typename Index, typename Id>
Csc sort_edges(const EdgeList<T>& edges, int64_t num_dst, bool edge_ids) {
  Csc csc;
  csc.indptr = count_rows(edges, num_dst);
  const int64_t num_edges = csc.indptr.as<int64_t>().back();
  csc.indices = allocate(kDTypeOf<Index>, num_edges);
  auto* indices = mutable_data<Index>(csc.indices);
  if (edge_ids) {
    csc.edge_ids = allocate(kDTypeOf<Id>, num_edges);
    auto* ids = mutable_data<Id>(csc.edge_ids);
    for_each_place(edges, csc.indptr, [&](int64_t p, T s, int64_t id) {
      indices[p] = static_cast<Index>(s);
      ids[p] = static_cast<Id>(id);
    });
  } else {
    for_each_place(edges, csc.indptr,
                   [&](int64_t p, T s, int64_t) { indices[p] = static_cast<Index>(s); });
  }
  if (edges.undirected) deduplicate<Index, Id>(csc);
  drop_identity_ids(csc);
  return csc;
}

template <typename T>
Csc choose_widths(const EdgeList<T>& edges, int64_t num_src, int64_t num_dst, bool edge_ids) {
  const bool narrow_index = width_for(num_src) == DType::kInt32;
  const bool narrow_id = width_for(edges.size() * (edges.undirected ? 2 : 1)) == DType::kInt32;
  if (narrow_index && narrow_id) return sort_edges<T, int32_t, int32_t>(edges, num_dst, edge_ids);
  if (narrow_index) return sort_edges<T, int32_t, int64_t>(edges, num_dst, edge_ids);
  if (narrow_id) return sort_edges<T, int64_t, int32_t>(edges, num_dst, edge_ids);
  return sort_edges<T, int64_t, int64_t>(edges, num_dst, edge_ids);
}

[[noreturn]] void invalid(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void require_ids(const Array& ids, const char* what) {
  if (ids.shape.size() == 1 && (ids.dtype == DType::kInt32 || ids.dtype == DType::kInt64)) return;
  invalid(std::string(what) + " is " + ids.describe() +
          ", expected one dimension of int32 or int64");
}

}  // namespace

Csc build_csc(const Array& src,
              const Array& dst,
              int64_t num_src,
              int64_t num_dst,
              const CscOptions& options) {
  require_ids(src, "src");
  require_ids(dst, "dst");
  if (src.rows() != dst.rows() || src.dtype != dst.dtype) {
    invalid("src is " + src.describe() + " but dst is " + dst.describe());
  }
  if (num_src < 0 || num_dst < 0) {
    invalid("number of nodes is negative: " + std::to_string(std::min(num_src, num_dst)));
  }
  if (num_dst > kMaxNodes) {
    invalid("num_dst is " + std::to_string(num_dst) + ", expected at most " +
            std::to_string(kMaxNodes));
  }
  if (options.undirected && num_src != num_dst) {
    invalid("an undirected edge type needs the same nodes at both ends, but has " +
            std::to_string(num_src) + " sources and " + std::to_string(num_dst) + " destinations");
  }
  return with_ids(src, [&](auto sources) {
    using T = typename decltype(sources)::value_type;
    const EdgeList<T> edges{sources, dst.as<T>(), options.undirected};
    check_range(edges.src, num_src, "source");
    check_range(edges.dst, num_dst, "destination");
    return choose_widths(edges, num_src, num_dst, options.edge_ids);
  });
}

Csc check_csc(const Array& indptr, const Array& indices, int64_t num_src, int64_t num_dst) {
  require_ids(indptr, "indptr");
  require_ids(indices, "indices");
  if (num_src < 0 || num_dst < 0 || num_dst > kMaxNodes) {
    invalid("numbers of nodes are " + std::to_string(num_src) + " and " + std::to_string(num_dst));
  }
  if (indptr.rows() != num_dst + 1) {
    invalid("indptr has " + std::to_string(indptr.rows()) +
            " entries, expected num_dst + 1 = " + std::to_string(num_dst + 1));
  }
  Csc csc;
  csc.indptr = allocate(DType::kInt64, num_dst + 1);
  auto* offsets = mutable_data<int64_t>(csc.indptr);
  with_ids(indptr, [&](auto given) { std::copy(given.begin(), given.end(), offsets); });
  if (offsets[0] != 0) invalid("indptr[0] is " + std::to_string(offsets[0]) + ", expected 0");
  for (int64_t v = 0; v < num_dst; ++v) {
    if (offsets[v + 1] < offsets[v]) {
      invalid("indptr decreases at " + std::to_string(v + 1) + ": " + std::to_string(offsets[v]) +
              ", then " + std::to_string(offsets[v + 1]));
    }
  }
  if (offsets[num_dst] != indices.rows()) {
    invalid("indptr ends with " + std::to_string(offsets[num_dst]) + ", but indices has " +
            std::to_string(indices.rows()) + " entries");
  }
  csc.indices = allocate(width_for(num_src), indices.rows());
  with_ids(indices, [&](auto given) {
    check_range(given, num_src, "source");
    if (csc.indices.dtype == DType::kInt32) {
      std::transform(given.begin(), given.end(), mutable_data<int32_t>(csc.indices),
                     [](auto id) { return static_cast<int32_t>(id); });
    } else {
      std::copy(given.begin(), given.end(), mutable_data<int64_t>(csc.indices));
    }
  });
  return csc;
}

}  // namespace ramet
