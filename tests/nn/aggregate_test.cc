// Aggregation and its gradients against arithmetic, an element at a time: the same bits.
// docs/semantics.md, section 20.
#include "ramet/aggregate.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/system/posix.h"
#include "kernels/cpu/aggregate.h"
#include "nn/aggregation_cases.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "support/mapped.h"
#include "support/slow_build.h"
#include "support/temp_dir.h"

using namespace ramet;

namespace {

// Sums in T, one after the other, with the rounding of the rows' type.
template <typename T>
Rows aggregate_by_definition(const Edges& edges,
                             const Rows& x,
                             Reduce reduce,
                             const Rows* weights,
                             int64_t width,
                             int64_t heads) {
  Rows out(x.array.dtype, {edges.num_dst(), width});
  for (int64_t d = 0; d < edges.num_dst(); ++d) {
    const int64_t begin = edges.indptr[size_t(d)], end = edges.indptr[size_t(d) + 1];
    for (int64_t c = 0; c < width; ++c) {
      T result = 0;
      for (int64_t e = begin; e < end; ++e) {
        const auto value = static_cast<T>(x.values[size_t(edges.indices[size_t(e)] * width + c)]);
        if (reduce == Reduce::kMax || reduce == Reduce::kMin) {
          const bool is_better = reduce == Reduce::kMax ? value > result : value < result;
          if (e == begin || is_better) result = value;
          continue;
        }
        const T weight =
            weights == nullptr
                ? T{1}
                : static_cast<T>(weights->values[size_t(e * heads + c / (width / heads))]);
        result += weights == nullptr ? value : weight * value;
      }
      if (reduce == Reduce::kMean && begin < end) result /= static_cast<T>(end - begin);
      out.set(d * width + c, static_cast<double>(result));
    }
  }
  return out;
}

template <typename T>
Rows back_by_definition(const Edges& edges,
                        const Rows& grad,
                        Reduce reduce,
                        const Rows* weights,
                        int64_t width,
                        int64_t heads) {
  std::vector<T> sums(size_t(edges.num_src * width), T{0});
  for (int64_t d = 0; d < edges.num_dst(); ++d) {
    const int64_t begin = edges.indptr[size_t(d)], end = edges.indptr[size_t(d) + 1];
    const T part = reduce == Reduce::kMean ? T{1} / static_cast<T>(end - begin) : T{1};
    for (int64_t e = begin; e < end; ++e) {
      for (int64_t c = 0; c < width; ++c) {
        const auto value = static_cast<T>(grad.values[size_t(d * width + c)]);
        T& sum = sums[size_t(edges.indices[size_t(e)] * width + c)];
        if (weights == nullptr)
          sum += part * value;
        else
          sum += static_cast<T>(weights->values[size_t(e * heads + c / (width / heads))]) * part *
                 value;
      }
    }
  }
  Rows out(grad.array.dtype, {edges.num_src, width});
  for (size_t i = 0; i < sums.size(); ++i)
    out.set(int64_t(i), static_cast<double>(sums[i]));
  return out;
}

}  // namespace

TEST_CASE("one pass over pieces of rows gives the bits of sums in the order of sources") {
  Edges edges(9, 40, [](int64_t d) { return d % 5; });
  for (size_t d = 0; d < 9; ++d)
    std::sort(edges.indices.begin() + edges.indptr[d], edges.indices.begin() + edges.indptr[d + 1]);
  const BlockEdges block = edges.block();
  const int64_t width = 100'000;  // 40 rows in three pieces
  const Rows x(DType::kFloat32, {40, width}, 1);
  for (const Reduce reduce : {Reduce::kMean, Reduce::kMin}) {
    const Rows expected(DType::kFloat32, {9, width}), out(DType::kFloat32, {9, width}, 2);
    aggregate(block, x.array, expected.array, {.reduce = reduce, .threads = 1});
    aggregate_in_one_pass(block, x.array, out.array, {.reduce = reduce, .threads = 2});
    CHECK(out.bytes == expected.bytes);
  }
  const Rows halves(DType::kFloat16, {40, 1}), out(DType::kFloat16, {9, 1});
  CHECK_THROWS_WITH_AS(aggregate_in_one_pass(block, halves.array, out.array, {}),
                       doctest::Contains("expected float32 or float64"), Error);
}

TEST_CASE("one pass over rows of a file gives the same, whether memory has its pages or not") {
  constexpr int64_t kRowsOfFile = 1100, kWidth = 4096;  // 512 rows a piece
  Edges edges(300, kRowsOfFile, [](int64_t d) { return d % 9; });
  for (size_t d = 0; d < 300; ++d)
    std::sort(edges.indices.begin() + edges.indptr[d], edges.indices.begin() + edges.indptr[d + 1]);
  const BlockEdges block = edges.block();
  const Rows x(DType::kFloat32, {kRowsOfFile, kWidth}, 1);
  const auto bytes = static_cast<size_t>(x.array.bytes());
  const test::TempDir folder;
  test::write_file(folder / "x", {reinterpret_cast<const char*>(x.bytes.data()), bytes});
  const Fd file(::open((folder / "x").c_str(), O_RDONLY | O_CLOEXEC));
  ::fdatasync(file.get());
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const auto mapped = test::map_pages(bytes, PROT_READ, MAP_SHARED, file.get());
  const Array on_disk{mapped.get(), DType::kFloat32, {kRowsOfFile, kWidth}, nullptr, true};
  const Rows expected(DType::kFloat32, {300, kWidth});
  aggregate(block, x.array, expected.array, {.reduce = Reduce::kMean});
  for (const bool in_memory : {false, true}) {
    if (in_memory) CHECK(std::memcmp(mapped.get(), x.bytes.data(), bytes) == 0);
    const Rows out(DType::kFloat32, {300, kWidth}, 2);
    aggregate_in_one_pass(block, on_disk, out.array, {.reduce = Reduce::kMean, .threads = 2});
    CHECK(out.bytes == expected.bytes);
  }
}

TEST_CASE("aggregates and gradients are what arithmetic, edge by edge, gives") {
  for_each_case([](const Edges& edges, DType dtype, int64_t width, int64_t heads) {
    const BlockEdges block = edges.block();
    const Rows x(dtype, {edges.num_src, width}, 1), grad(dtype, {edges.num_dst(), width}, 1);
    const Rows weights(dtype == DType::kFloat64 ? dtype : DType::kFloat32,
                       {block.num_edges(), heads}, 2);
    const auto check = [&](Reduce reduce, const Rows* weighted, bool is_back) {
      const Rows& from = is_back ? grad : x;
      const auto by_definition = is_back ? dtype == DType::kFloat64 ? back_by_definition<double>
                                                                    : back_by_definition<float>
                                 : dtype == DType::kFloat64 ? aggregate_by_definition<double>
                                                            : aggregate_by_definition<float>;
      const Rows expected = by_definition(edges, from, reduce, weighted, width, heads);
      for (const int threads : {1, 4}) {
        if (test::kSlowBuild && threads == 1) continue;
        const Rows out(dtype, expected.array.shape, 3);
        (is_back ? aggregate_back : aggregate)(
            block, from.array, out.array,
            {.reduce = reduce,
             .weights = weighted == nullptr ? nullptr : &weighted->array,
             .threads = threads});
        CHECK(out.bytes == expected.bytes);
        if (is_back || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) continue;
        const Rows again(dtype, expected.array.shape, 3);
        aggregate_in_one_pass(block, x.array, again.array,
                              {.reduce = reduce,
                               .weights = weighted == nullptr ? nullptr : &weighted->array,
                               .threads = threads});
        CHECK(again.bytes == expected.bytes);
      }
    };
    for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin}) {
      check(reduce, nullptr, false);
      if (reduce != Reduce::kSum && reduce != Reduce::kMean) continue;
      check(reduce, &weights, false);
      check(reduce, nullptr, true);
      check(reduce, &weights, true);
    }
  });
}

TEST_CASE("results that are written past the caches are the same") {
  const Edges edges(50, 80, [](int64_t d) { return d % 5; });
  for (const auto& [dtype, type] : {std::pair{DType::kFloat32, RowType::kFloat32},
                                    {DType::kFloat64, RowType::kFloat64},
                                    {DType::kBFloat16, RowType::kBFloat16},
                                    {DType::kFloat16, RowType::kFloat16}}) {
    constexpr int64_t kWidth = 96;
    const Rows x(dtype, {80, kWidth}, 1);
    const auto bytes = static_cast<size_t>(50 * x.array.row_bytes());
    const auto pool = BufferPool::create();
    const auto cached = pool->allocate(int64_t(bytes)), streamed = pool->allocate(int64_t(bytes));
    AggregateArgs args{.indptr = edges.indptr.data(),
                       .indices = edges.indices.data(),
                       .num_edges = std::ssize(edges.indices),
                       .rows = x.array.data,
                       .num_rows = 80,
                       .width = kWidth,
                       .reduction = Reduction::kMean,
                       .out = cached.get()};
    CHECK(aggregate_kernel(type, kWidth)(args, 0, 50));
    args.out = streamed.get();
    args.streamed = true;
    CHECK(aggregate_kernel(type, kWidth)(args, 0, 50));
    CHECK(std::memcmp(cached.get(), streamed.get(), bytes) == 0);
  }
}

TEST_CASE("a maximum or minimum that meets a NaN is one") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const size_t at : {0, 1, 2}) {
    std::vector<float> x(3 * 17, 1.0F);
    x[at * 17 + 16] = nan;
    const std::vector<int64_t> indptr = {0, 3};
    const std::vector<int32_t> indices = {0, 1, 2};
    const BlockEdges edges(borrow(indptr), borrow(indices), 3);
    for (const Reduce reduce : {Reduce::kMax, Reduce::kMin}) {
      std::vector<float> out(17);
      aggregate(edges, {x.data(), DType::kFloat32, {3, 17}, nullptr, false},
                {out.data(), DType::kFloat32, {1, 17}, nullptr, true}, {.reduce = reduce});
      CHECK(std::isnan(out[16]));
      CHECK(out[15] == 1);
    }
  }
}

TEST_CASE("edges that a caller damages after the check do no harm") {
  std::vector<int64_t> indptr = {0, 1, 3};
  std::vector<int32_t> indices = {0, 1, 2};
  std::vector<float> x(3 * 40, 1.0F), out(3 * 40);
  const Array rows{x.data(), DType::kFloat32, {3, 40}, nullptr, false};
  const Array result{out.data(), DType::kFloat32, {2, 40}, nullptr, true};
  const Array back{out.data(), DType::kFloat32, {3, 40}, nullptr, true};
  const auto damage_fails = [&](auto& value, auto damaged) {
    const auto before = value;
    const BlockEdges edges(borrow(indptr), borrow(indices), 3);
    value = damaged;
    CHECK_THROWS_AS(aggregate(edges, rows, result, {}), Error);
    CHECK_THROWS_AS(aggregate_back(edges, result, back, {}), Error);
    CHECK_THROWS_AS(edges.transposed(1), Error);
    value = before;
    CHECK_NOTHROW(aggregate_back(edges, result, back, {}));
  };
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::max()})
    damage_fails(indices[1], bad);
  for (const int64_t bad : {int64_t{-1}, int64_t{4}, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()})
    damage_fails(indptr[1], bad);
}

TEST_CASE("arrays that do not fit the edges are refused") {
  const Edges edges(4, 6, [](int64_t) { return 2; });
  const BlockEdges block = edges.block();
  const Rows x(DType::kFloat32, {6, 8}), out(DType::kFloat32, {4, 8});
  const auto refuses = [&](const Array& from, const Array& to,
                           const AggregateOptions& options = {}) {
    CHECK_THROWS_AS(aggregate(block, from, to, options), Error);
  };
  refuses(Rows(DType::kFloat32, {5, 8}).array, out.array);
  refuses(x.array, Rows(DType::kFloat32, {3, 8}).array);
  refuses(x.array, Rows(DType::kFloat32, {4, 9}).array);
  refuses(x.array, Rows(DType::kFloat64, {4, 8}).array);
  Array integers = x.array;
  integers.dtype = DType::kInt32;
  refuses(integers, out.array);
  Array constant = out.array;
  constant.writable = false;
  refuses(x.array, constant);
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{7}, {9, 1}, {8, 3}, {8, 0}, {8, 1, 1}}) {
    const Rows weights(DType::kFloat32, shape);
    refuses(x.array, out.array, {.weights = &weights.array});
  }
  const Rows doubles(DType::kFloat64, {8}), floats(DType::kFloat32, {8});
  refuses(x.array, out.array, {.weights = &doubles.array});
  refuses(x.array, out.array, {.reduce = Reduce::kMax, .weights = &floats.array});
  CHECK_THROWS_AS(aggregate_back(block, out.array, x.array, {.reduce = Reduce::kMax}), Error);
  CHECK_THROWS_AS(aggregate_back(block, x.array, out.array, {}), Error);
}
