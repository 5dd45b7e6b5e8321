// The kernels of edge_rows.h over vectors of elements: `L` as in aggregate_lanes.h. In an unnamed
// namespace, so that each file has its own copy, compiled for its instructions.
#pragma once

#include <cstdint>

#include "aggregate_lanes.h"
#include "edge_rows.h"

namespace ramet {
namespace {

// Rows of L's elements, and the request of those of edges to come.
template <typename L>
struct EdgeRows {
  const EdgeRowsArgs args;  // a copy, which no store of a row can be to
  const int64_t row_bytes = args.width * L::kBytes;
  const int64_t ahead = edges_ahead(row_bytes);

  const char* own(int64_t d) const { return static_cast<const char*>(args.own) + d * row_bytes; }
  const char* row(int64_t e) const {
    return static_cast<const char*>(args.rows) + args.indices[e] * row_bytes;
  }
  const char* second(int64_t row) const {
    return static_cast<const char*>(args.second) + row * row_bytes;
  }

  // Bytes [begin, begin + count) of the row of an edge to come, whose source nobody has checked.
  [[gnu::always_inline]] void request(const void* rows,
                                      int64_t e,
                                      int64_t begin,
                                      int64_t count) const {
    const int64_t coming = e + ahead < args.num_edges ? e + ahead : args.num_edges - 1;
    const uint64_t from =
        reinterpret_cast<uint64_t>(rows) + static_cast<uint64_t>(begin) +
        static_cast<uint64_t>(int64_t{args.indices[coming]}) * static_cast<uint64_t>(row_bytes);
    for (int64_t at = 0; at < count; at += kLineBytes)
      __builtin_prefetch(reinterpret_cast<const void*>(from + static_cast<uint64_t>(at)), 0, 3);
  }

  bool are_good(int64_t first, int64_t last) const {
    if (first < 0 || last < first || last > args.num_edges) return false;
    bool is_bad = false;
    for (int64_t e = first; e < last; ++e)
      is_bad |=
          static_cast<uint64_t>(int64_t{args.indices[e]}) >= static_cast<uint64_t>(args.num_rows);
    return !is_bad;
  }

  // Calls body(d, first edge, edge after the last) for each destination, while its edges are good.
  template <typename Body>
  bool for_each(int64_t begin, int64_t end, const Body& body) const {
    for (int64_t d = begin; d < end; ++d) {
      const int64_t first = args.indptr[d], last = args.indptr[d + 1];
      if (!are_good(first, last)) return false;
      body(d, first, last);
    }
    return true;
  }
};

// Products: element i adds to the partial sum i mod 16, and these are added in pairs, the upper
// half to the lower.
template <typename L>
struct EdgeDots {
  using Vector = typename L::Vector;
  using Scalar = typename L::Scalar;
  static constexpr int64_t kPartial = 16;
  static constexpr int kVectors = kPartial / L::kLanes;

  static bool run(const EdgeRowsArgs& args, int64_t begin, int64_t end) {
    const EdgeRows<L> edges{args};
    const int64_t width = args.width / args.heads, heads = args.heads;
    auto* const out = static_cast<Scalar*>(args.out);
    return edges.for_each(begin, end, [&](int64_t d, int64_t first, int64_t last) {
      const char* own = edges.own(d);
      const auto count = static_cast<Scalar>(last - first);
      for (int64_t e = first; e < last; ++e) {
        edges.request(edges.args.rows, e, 0, edges.row_bytes);
        const char* row = edges.row(e);
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t at = h * width * L::kBytes;
          const Scalar product = dot(own + at, row + at, width);
          out[e * heads + h] = edges.args.is_mean ? product / count : product;
        }
      }
    });
  }

  static Scalar dot(const char* a, const char* b, int64_t width) {
    Vector sums[kVectors];
    for (int v = 0; v < kVectors; ++v)
      sums[v] = L::fill(0);
    int64_t i = 0;
    for (; i + kPartial <= width; i += kPartial)
      add_products(a + i * L::kBytes, b + i * L::kBytes, sums);
    if (i < width) {  // a product of zeros changes no sum, which is never -0
      char rest_a[kPartial * L::kBytes] = {}, rest_b[kPartial * L::kBytes] = {};
      for (int64_t at = i * L::kBytes, to = 0; at < width * L::kBytes; ++at, ++to)
        rest_a[to] = a[at], rest_b[to] = b[at];
      add_products(rest_a, rest_b, sums);
    }
    for (int half = kVectors / 2; half > 0; half /= 2)
      for (int v = 0; v < half; ++v)
        sums[v] = L::add(sums[v], sums[v + half]);
    return L::sum(sums[0]);
  }

  static void add_products(const char* a, const char* b, Vector* sums) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v * L::kLanes * L::kBytes;
      sums[v] = L::add(sums[v], L::mul(L::load(a + at), L::load(b + at)));
    }
  }
};

// Calls body.template pass<vectors>(column) so that vectors cover the columns of a row; the last
// one ends with it, and so may compute again what the one before has.
template <typename L, typename Body>
void cover_columns(int64_t width, const Body& body) {
  int64_t c = 0;
  for (; c + 4 * L::kLanes <= width; c += 4 * L::kLanes)
    body.template pass<4>(c);
  for (; c + L::kLanes <= width; c += L::kLanes)
    body.template pass<1>(c);
  if (c < width) body.template pass<1>(width - L::kLanes);
}

// Columns of a destination, whose edges are [first, last).
template <typename L>
struct Ties {
  const EdgeRows<L>& edges;
  int64_t d, first, last;

  template <int kVectors>
  void pass(int64_t column) const {
    typename L::Vector own[kVectors], count[kVectors];
    const auto one = L::fill(1);
    const int64_t at = column * L::kBytes;
    constexpr int64_t kStep = L::kLanes * L::kBytes;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      own[v] = L::load(edges.own(d) + at + v * kStep), count[v] = L::fill(0);
    for (int64_t e = first; e < last; ++e) {
      edges.request(edges.args.rows, e, at, kVectors * kStep);
      const char* row = edges.row(e) + at;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        count[v] = L::add(count[v], L::where_equal(own[v], L::load(row + v * kStep), one));
    }
    char* const out = static_cast<char*>(edges.args.out) + d * edges.row_bytes + at;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto gradient = L::load(edges.second(d) + at + v * kStep);
      L::store(out + v * kStep, L::keep_nan(own[v], L::div(gradient, L::max(count[v], one))));
    }
  }
};

template <typename L>
struct Matches {
  const EdgeRows<L>& edges;
  int64_t d, first, last;

  template <int kVectors>
  void pass(int64_t column) const {
    typename L::Vector own[kVectors], sum[kVectors];
    const int64_t at = column * L::kBytes;
    constexpr int64_t kStep = L::kLanes * L::kBytes;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      own[v] = L::load(edges.own(d) + at + v * kStep), sum[v] = L::fill(0);
    for (int64_t e = first; e < last; ++e) {
      edges.request(edges.args.rows, e, at, kVectors * kStep);
      edges.request(edges.args.second, e, at, kVectors * kStep);
      const char *row = edges.row(e) + at, *second = edges.second(edges.args.indices[e]) + at;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto value = L::load(second + v * kStep);
        sum[v] = L::add(sum[v], L::where_equal(own[v], L::load(row + v * kStep), value));
      }
    }
    char* const out = static_cast<char*>(edges.args.out) + d * edges.row_bytes + at;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      L::store(out + v * kStep, sum[v]);
  }
};

template <typename L, template <typename> typename Pass>
bool run_columns(const EdgeRowsArgs& args, int64_t begin, int64_t end) {
  const EdgeRows<L> edges{args};
  return edges.for_each(begin, end, [&](int64_t d, int64_t first, int64_t last) {
    cover_columns<L>(args.width, Pass<L>{edges, d, first, last});
  });
}

template <typename Lanes>
EdgeRowsKernels edge_rows_kernels_of(RowType type) {
  return of_lanes<Lanes>(type, []<typename L>(L) -> EdgeRowsKernels {
    return {L::kLanes, EdgeDots<L>::run, run_columns<L, Ties>, run_columns<L, Matches>};
  });
}

}  // namespace
}  // namespace ramet
