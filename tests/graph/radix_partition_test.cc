// build_csc against a plain stable counting sort, on edge lists that fill many buckets and parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "ramet/csc.h"
#include "support/graph_fixture.h"
#include "support/slow_build.h"

using namespace ramet;
using ramet::test::EdgeList;

namespace {

// Edges are several parts, and many buckets where there are enough rows.
constexpr int64_t kManyRows = test::kSlowBuild ? 300'000 : 3'000'000;
constexpr int64_t kEdges = test::kSlowBuild ? 150'000 : 300'000;
const std::vector<int> kThreads = test::kSlowBuild ? std::vector{3} : std::vector{1, 2, 3, 8};

struct Twin {
  std::vector<int64_t> indptr, indices, edge_ids;
};

// The slow twin: one counting sort of everything.
Twin counting_sort(const EdgeList& edges, int64_t num_dst) {
  Twin twin;
  twin.indptr.assign(static_cast<size_t>(num_dst) + 1, 0);
  for (const int64_t d : edges.dst)
    ++twin.indptr[static_cast<size_t>(d) + 1];
  std::partial_sum(twin.indptr.begin(), twin.indptr.end(), twin.indptr.begin());
  std::vector<int64_t> next = twin.indptr;
  twin.indices.resize(edges.src.size());
  twin.edge_ids.resize(edges.src.size());
  for (size_t e = 0; e < edges.src.size(); ++e) {
    const auto position = static_cast<size_t>(next[static_cast<size_t>(edges.dst[e])]++);
    twin.indices[position] = edges.src[e];
    twin.edge_ids[position] = static_cast<int64_t>(e);
  }
  return twin;
}

// The slow twin of undirected: sorts (destination, source, id) of all, keeps the first of a pair.
Twin sort_undirected(const EdgeList& edges, int64_t num_nodes) {
  const auto n = static_cast<int64_t>(edges.src.size());
  std::vector<std::tuple<int64_t, int64_t, int64_t>> all;
  for (int64_t e = 0; e < n; ++e) {
    const auto i = static_cast<size_t>(e);
    all.emplace_back(edges.dst[i], edges.src[i], e);
    if (edges.src[i] != edges.dst[i]) all.emplace_back(edges.src[i], edges.dst[i], n + e);
  }
  std::sort(all.begin(), all.end());
  Twin twin;
  twin.indptr.assign(static_cast<size_t>(num_nodes) + 1, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [d, s, id] = all[i];
    if (i > 0 && std::get<0>(all[i - 1]) == d && std::get<1>(all[i - 1]) == s) continue;
    ++twin.indptr[static_cast<size_t>(d) + 1];
    twin.indices.push_back(s);
    twin.edge_ids.push_back(id);
  }
  std::partial_sum(twin.indptr.begin(), twin.indptr.end(), twin.indptr.begin());
  return twin;
}

bool equal(const Array& found, const std::vector<int64_t>& expected) {
  return with_ids(found, [&](auto ids) {
    return std::equal(ids.begin(), ids.end(), expected.begin(), expected.end());
  });
}

template <typename T>
Csc build(const EdgeList& edges, int64_t num_src, int64_t num_dst, const CscOptions& options) {
  const std::vector<T> src(edges.src.begin(), edges.src.end());
  const std::vector<T> dst(edges.dst.begin(), edges.dst.end());
  return build_csc(borrow(src), borrow(dst), num_src, num_dst, options);
}

template <typename T>
void check(const EdgeList& edges, int64_t num_src, int64_t num_dst, bool undirected) {
  const Twin twin = undirected ? sort_undirected(edges, num_dst) : counting_sort(edges, num_dst);
  for (const int threads : kThreads) {
    CAPTURE(threads);
    const Csc csc = build<T>(edges, num_src, num_dst,
                             {.undirected = undirected, .edge_ids = true, .threads = threads});
    CHECK(equal(csc.indptr, twin.indptr));
    CHECK(equal(csc.indices, twin.indices));
    if (csc.edge_ids.data != nullptr) CHECK(equal(csc.edge_ids, twin.edge_ids));
    if (csc.edge_ids.data == nullptr)
      CHECK(std::is_sorted(twin.edge_ids.begin(), twin.edge_ids.end()));
    const Csc bare = build<T>(edges, num_src, num_dst,
                              {.undirected = undirected, .edge_ids = false, .threads = threads});
    CHECK(equal(bare.indptr, twin.indptr));
    CHECK(equal(bare.indices, twin.indices));
    CHECK(bare.edge_ids.data == nullptr);
  }
}

template <typename T>
void check_both(const EdgeList& edges, int64_t num_nodes) {
  check<T>(edges, num_nodes, num_nodes, false);
  check<T>(edges, num_nodes, num_nodes, true);
}

}  // namespace

TEST_CASE("csc: random edges of both widths, for any number of threads") {
  const EdgeList edges = test::random_edges(50'000, 50'000, kEdges, 1);
  check_both<int32_t>(edges, 50'000);
  check<int64_t>(edges, 50'000, 50'000, false);
  if (!test::kSlowBuild) check<int64_t>(edges, 50'000, 50'000, true);
  check<int32_t>(test::random_edges(70'000, 100, kEdges, 2), 70'000, 100, false);
}

TEST_CASE("csc: repeated pairs, so that most edges of an undirected graph are dropped") {
  check_both<int32_t>(test::random_edges(300, 300, kEdges, 3), 300);
}

TEST_CASE("csc: edges sorted by destination, and in reverse") {
  EdgeList edges = test::random_edges(50'000, 50'000, kEdges, 4);
  std::sort(edges.dst.begin(), edges.dst.end());
  check_both<int32_t>(edges, 50'000);
  std::reverse(edges.dst.begin(), edges.dst.end());
  check_both<int32_t>(edges, 50'000);
}

TEST_CASE("csc: one row with all edges, in the middle of many rows") {
  EdgeList edges = test::random_edges(50'000, 1, kEdges, 5);
  std::fill(edges.dst.begin(), edges.dst.end(), 31'234);
  check_both<int32_t>(edges, 50'000);
}

TEST_CASE("csc: more rows than edges, and ids at their bounds") {
  const int64_t last = kManyRows - 1;
  const EdgeList edges{{0, last, last, 0, 17}, {last, 0, last, 0, 17}};
  check_both<int32_t>(edges, kManyRows);
  check_both<int64_t>(edges, kManyRows);
}

TEST_CASE("csc: sources of 64 bits") {
  EdgeList edges = test::random_edges(50'000, 50'000, kEdges, 6);
  for (int64_t& s : edges.src)
    s += int64_t{1} << 40;
  check<int64_t>(edges, int64_t{1} << 41, 50'000, false);
}

TEST_CASE("csc: ids of 32 bits below a bound beyond them") {
  const EdgeList edges{{std::numeric_limits<int32_t>::max(), 0}, {1, 0}};
  check<int32_t>(edges, int64_t{1} << 33, 2, false);
}

TEST_CASE("csc: no edges, no rows") {
  check_both<int32_t>({}, 0);
  check_both<int64_t>({}, 100'000);
}

TEST_CASE("csc: the first edge out of range is named, whichever part finds one first") {
  EdgeList edges = test::random_edges(1000, 1000, kEdges, 7);
  edges.dst[100'000] = 1000;
  edges.dst[149'999] = -1;
  CHECK_THROWS_WITH(build<int32_t>(edges, 1000, 1000, {}),
                    "destination of edge 100000 is 1000, outside [0, 1000)");
  edges.src[149'998] = int64_t{1} << 40;
  CHECK_THROWS_WITH(build<int64_t>(edges, 1000, 1000, {}),
                    "source of edge 149998 is 1099511627776, outside [0, 1000)");
  CHECK_THROWS_WITH(build<int64_t>({{0}, {0}}, 0, 1, {}), "source of edge 0 is 0, outside [0, 0)");
  CHECK_THROWS_WITH(build<int64_t>({{0}, {0}}, 1, 0, {}),
                    "destination of edge 0 is 0, outside [0, 0)");
}

TEST_CASE("csc: a negative number of threads is named") {
  CHECK_THROWS_WITH(build<int32_t>({{0}, {0}}, 1, 1, {.threads = -2}),
                    "threads is -2, expected >= 0");
}
