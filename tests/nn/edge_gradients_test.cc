// Gradients of weights and extremes against arithmetic, an element at a time: the same bits.
// docs/semantics.md, section 20.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/aggregation_cases.h"
#include "ramet/aggregate.h"
#include "ramet/error.h"

using namespace ramet;

namespace {

template <typename T>
T dot(const Rows& a, int64_t from_a, const Rows& b, int64_t from_b, int64_t width) {
  T parts[16] = {};
  for (int64_t i = 0; i < width; ++i)
    parts[i % 16] +=
        static_cast<T>(a.values[size_t(from_a + i)]) * static_cast<T>(b.values[size_t(from_b + i)]);
  for (size_t half = 8; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      parts[i] += parts[i + half];
  return parts[0];
}

template <typename T>
Rows dots_by_definition(const Edges& edges,
                        const Rows& own,
                        const Rows& x,
                        bool is_mean,
                        int64_t width,
                        int64_t heads) {
  Rows out(kDTypeOf<T>, {std::ssize(edges.indices), heads});
  const int64_t head_width = width / heads;
  for (int64_t d = 0; d < edges.num_dst(); ++d) {
    const int64_t begin = edges.indptr[size_t(d)], end = edges.indptr[size_t(d) + 1];
    for (int64_t e = begin; e < end; ++e) {
      for (int64_t h = 0; h < heads; ++h) {
        const T product = dot<T>(own, d * width + h * head_width, x,
                                 edges.indices[size_t(e)] * width + h * head_width, head_width);
        out.set(e * heads + h,
                static_cast<double>(is_mean ? product / static_cast<T>(end - begin) : product));
      }
    }
  }
  return out;
}

// Few values, so that many are equal.
Rows coarse_rows(DType dtype, std::vector<int64_t> shape, uint64_t key) {
  Rows rows(dtype, std::move(shape), key);
  for (size_t i = 0; i < rows.values.size(); ++i)
    rows.set(int64_t(i), static_cast<double>(absorb(key, i) % 3));
  rows.read();
  return rows;
}

template <typename T>
void check_extremes(const Edges& edges, DType dtype, int64_t width, Reduce reduce, int threads) {
  const BlockEdges block = edges.block();
  const Rows x = coarse_rows(dtype, {edges.num_src, width}, 1);
  const Rows grad(dtype, {edges.num_dst(), width}, 2);
  Rows reduced(dtype, {edges.num_dst(), width}), shared = reduced, expected_shared = reduced;
  Rows back(dtype, {edges.num_src, width}), expected(dtype, {edges.num_src, width});
  aggregate(block, x.array, reduced.array, {.reduce = reduce});
  reduced.read();
  shared.array.data = shared.bytes.data();
  share_extremes(block, x.array, reduced.array, grad.array, shared.array, threads);
  std::vector<T> sums(size_t(edges.num_src * width), T{0});
  for (int64_t d = 0; d < edges.num_dst(); ++d) {
    const auto begin = size_t(edges.indptr[size_t(d)]), end = size_t(edges.indptr[size_t(d) + 1]);
    for (int64_t c = 0; c < width; ++c) {
      const auto at = size_t(d * width + c);
      const auto is_tie = [&](size_t e) {
        return x.values[size_t(edges.indices[e] * width + c)] == reduced.values[at];
      };
      T ties = 0;
      for (size_t e = begin; e < end; ++e)
        ties += is_tie(e) ? T{1} : T{0};
      const T share = static_cast<T>(grad.values[at]) / std::max(ties, T{1});
      expected_shared.set(int64_t(at), static_cast<double>(share));
    }
  }
  CHECK(shared.bytes == expected_shared.bytes);
  shared.read();
  for (int64_t d = 0; d < edges.num_dst(); ++d) {
    for (int64_t e = edges.indptr[size_t(d)]; e < edges.indptr[size_t(d) + 1]; ++e) {
      for (int64_t c = 0; c < width; ++c) {
        const auto s = size_t(edges.indices[size_t(e)] * width + c), at = size_t(d * width + c);
        if (x.values[s] == reduced.values[at]) sums[s] += static_cast<T>(shared.values[at]);
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i)
    expected.set(int64_t(i), static_cast<double>(sums[i]));
  extremes_back(block, x.array, reduced.array, shared.array, back.array, threads);
  CHECK(back.bytes == expected.bytes);
}

}  // namespace

TEST_CASE("products of rows along edges are what arithmetic gives") {
  for_each_case([](const Edges& edges, DType dtype, int64_t width, int64_t heads) {
    const BlockEdges block = edges.block();
    const Rows own(dtype, {edges.num_dst(), width}, 1), x(dtype, {edges.num_src, width}, 2);
    for (const bool is_mean : {false, true}) {
      const Rows expected = dtype == DType::kFloat64
                                ? dots_by_definition<double>(edges, own, x, is_mean, width, heads)
                                : dots_by_definition<float>(edges, own, x, is_mean, width, heads);
      for (const int threads : {1, 4}) {
        const Rows out(expected.array.dtype, expected.array.shape, 3);
        edge_dots(block, own.array, x.array, out.array, {.is_mean = is_mean, .threads = threads});
        CHECK(out.bytes == expected.bytes);
      }
    }
  });
}

TEST_CASE("the gradient of an extreme is shared by those that have it") {
  for_each_case([](const Edges& edges, DType dtype, int64_t width, int64_t heads) {
    if (heads != 1) return;
    for (const Reduce reduce : {Reduce::kMax, Reduce::kMin}) {
      for (const int threads : {1, 4}) {
        if (dtype == DType::kFloat64)
          check_extremes<double>(edges, dtype, width, reduce, threads);
        else
          check_extremes<float>(edges, dtype, width, reduce, threads);
      }
    }
  });
}

TEST_CASE("all sources of an extreme that is a NaN get a NaN") {
  const std::vector<int64_t> indptr = {0, 2, 3};
  const std::vector<int32_t> indices = {0, 1, 2};
  const BlockEdges edges(borrow(indptr), borrow(indices), 3);
  for (const int64_t width : {3, 37}) {
    Rows x(DType::kFloat32, {3, width}, 1), reduced(DType::kFloat32, {2, width});
    const Rows grad(DType::kFloat32, {2, width}, 2);
    Rows shared(DType::kFloat32, {2, width}), back(DType::kFloat32, {3, width});
    x.set(width + 1, std::numeric_limits<double>::quiet_NaN());
    aggregate(edges, x.array, reduced.array, {.reduce = Reduce::kMax});
    share_extremes(edges, x.array, reduced.array, grad.array, shared.array, 1);
    extremes_back(edges, x.array, reduced.array, shared.array, back.array, 1);
    back.read();
    for (int64_t i = 0; i < 3 * width; ++i)
      CHECK(std::isnan(back.values[size_t(i)]) == (i == 1 || i == width + 1));
  }
}

TEST_CASE("gradients refuse arrays that do not fit") {
  const Edges edges(4, 6, [](int64_t) { return 2; });
  const BlockEdges block = edges.block();
  const Rows own(DType::kFloat32, {4, 8}), x(DType::kFloat32, {6, 8}), out(DType::kFloat32, {8, 2});
  const Rows fewer(DType::kFloat32, {3, 8}), wide(DType::kFloat32, {6, 9});
  CHECK_NOTHROW(edge_dots(block, own.array, x.array, out.array, {}));
  CHECK_THROWS_AS(edge_dots(block, fewer.array, x.array, out.array, {}), Error);
  CHECK_THROWS_AS(edge_dots(block, own.array, own.array, out.array, {}), Error);
  CHECK_THROWS_AS(edge_dots(block, own.array, wide.array, out.array, {}), Error);
  CHECK_THROWS_AS(edge_dots(block, own.array, x.array, fewer.array, {}), Error);
  CHECK_THROWS_AS(share_extremes(block, x.array, fewer.array, own.array, own.array, 1), Error);
  CHECK_THROWS_AS(share_extremes(block, x.array, own.array, fewer.array, own.array, 1), Error);
  CHECK_THROWS_AS(extremes_back(block, x.array, own.array, fewer.array, x.array, 1), Error);
  CHECK_THROWS_AS(extremes_back(block, wide.array, own.array, own.array, wide.array, 1), Error);
  CHECK_THROWS_AS(extremes_back(block, x.array, own.array, own.array, own.array, 1), Error);
}

TEST_CASE("an edge_index that does not fit is refused") {
  std::vector<int64_t> ids = {0, 2, 1, 1};
  Array edge_index{ids.data(), DType::kInt64, {2, 2}, nullptr, false};
  const auto sort = [&](int64_t num_src, int64_t num_dst) {
    return sort_edges(edge_index, num_src, num_dst);
  };
  CHECK_NOTHROW(sort(3, 2));
  CHECK_THROWS_WITH_AS(sort(2, 2), "edge_index[0, 1] is 2, outside [0, 2)", Error);
  CHECK_THROWS_WITH_AS(sort(3, 1), "edge_index[1, 0] is 1, outside [0, 1)", Error);
  CHECK_THROWS_AS(sort(-1, 2), Error);
  CHECK_THROWS_AS(sort(3, int64_t{1} << 31), Error);
  edge_index.shape = {4};
  CHECK_THROWS_AS(sort(3, 2), Error);
}
