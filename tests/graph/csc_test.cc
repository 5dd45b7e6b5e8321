#include "ramet/csc.h"

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ramet/error.h"
#include "support/graph_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

int64_t at(const Array& ids, int64_t p) {
  return with_ids(ids, [&](auto values) -> int64_t { return values[static_cast<size_t>(p)]; });
}

}  // namespace

TEST_CASE("build_csc frees the edges that it was given, and leaves those that it was shown") {
  const auto owner = std::make_shared<std::vector<int64_t>>(test::random_edges(50, 50, 900, 1).src);
  Array src = borrow(std::span<const int64_t>(*owner));
  src.owner = owner;
  Array dst = src;
  const Csc shown = build_csc(src, dst, 50, 50, {.undirected = true});
  CHECK(owner.use_count() == 3);
  const Csc given = build_csc(std::move(src), std::move(dst), 50, 50, {.undirected = true});
  CHECK(owner.use_count() == 1);
  REQUIRE(given.indices.rows() == shown.indices.rows());
  for (int64_t p = 0; p < shown.indices.rows(); ++p)
    REQUIRE(at(given.indices, p) == at(shown.indices, p));
}

TEST_CASE("edge ids are dropped where they say nothing") {
  const EdgeList sorted{{4, 3, 0}, {0, 0, 2}};
  CHECK(csc_of(sorted, 5, 3).edge_ids.data == nullptr);
  const EdgeList unsorted{{4, 3, 0}, {2, 0, 0}};
  CHECK(csc_of(unsorted, 5, 3).edge_ids.data != nullptr);
  CHECK(csc_of(unsorted, 5, 3, {.edge_ids = false}).edge_ids.data == nullptr);
}

TEST_CASE("ids are int32 where they fit, else int64") {
  const EdgeList edges{{4, 3'000'000'000}, {0, 0}};
  const Csc wide = csc_of(edges, 3'000'000'001, 1);
  CHECK(wide.indices.dtype == DType::kInt64);
  CHECK(at(wide.indices, 1) == 3'000'000'000);
  CHECK(csc_of({{4}, {0}}, 5, 1).indices.dtype == DType::kInt32);
}

TEST_CASE("no edges and no nodes are fine") {
  CHECK(csc_of({}, 0, 0).indptr.rows() == 1);
  CHECK(csc_of({}, 3, 2).indices.rows() == 0);
}

TEST_CASE("bad edges are named") {
  CHECK_THROWS_WITH_AS(csc_of({{1, 5}, {0, 0}}, 5, 1), "source of edge 1 is 5, outside [0, 5)",
                       Error);
  CHECK_THROWS_WITH_AS(csc_of({{1, 2}, {0, -1}}, 5, 1),
                       "destination of edge 1 is -1, outside [0, 1)", Error);
  CHECK_THROWS_AS(csc_of({{1, 2}, {0}}, 5, 1), Error);
  CHECK_THROWS_AS(csc_of({{1}, {0}}, 5, 4, {.undirected = true}), Error);
  CHECK_THROWS_AS(csc_of({}, 5, int64_t{1} << 62), Error);
  CHECK_THROWS_AS(csc_of({}, -1, 5), Error);
}

TEST_CASE("check_csc accepts what build_csc makes and names what is wrong") {
  const std::vector<int64_t> indptr{0, 2, 2, 3}, indices{1, 0, 2};
  const auto check = [&](std::vector<int64_t> p, std::vector<int64_t> i, int64_t n) {
    return check_csc(borrow(p), borrow(i), n, 3);
  };
  CHECK(check(indptr, indices, 3).indices.dtype == DType::kInt32);
  CHECK_THROWS_WITH_AS(check({0, 2, 1, 3}, indices, 3), "indptr decreases at 2: 2, then 1", Error);
  CHECK_THROWS_WITH_AS(check({1, 2, 2, 3}, indices, 3), "indptr[0] is 1, expected 0", Error);
  CHECK_THROWS_AS(check({0, 2, 2, 4}, indices, 3), Error);
  CHECK_THROWS_AS(check({0, 2, 3}, indices, 3), Error);
  CHECK_THROWS_WITH_AS(check(indptr, {1, 0, 3}, 3), "source of edge 2 is 3, outside [0, 3)", Error);
}
