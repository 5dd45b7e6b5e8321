// Sums of rows over edges on a device against the CPU's, to the bit: docs/semantics.md, section 20.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "nn/aggregate_table_cases.h"
#include "nn/aggregation_cases.h"
#include "ramet/aggregate_table.h"
#include "ramet/block_edges.h"
#include "ramet/cuda_memory.h"
#include "ramet/random.h"
#include "support/errors.h"
#include "support/ids.h"

namespace ramet::test {
namespace {

// Of rows of any dtype, as float32.
std::vector<float> sums_of_cpu(const Edges& edges, const Rows& x, const Array* weights) {
  std::vector<float> wide(x.values.begin(), x.values.end());
  const int64_t width = x.array.shape[1];
  std::vector<float> out(static_cast<size_t>(edges.num_dst() * width));
  const auto as_rows = [&](std::vector<float>& values, int64_t rows) {
    return Array{values.data(), DType::kFloat32, {rows, width}, nullptr, true};
  };
  aggregate(edges.block(), as_rows(wide, x.array.rows()), as_rows(out, edges.num_dst()),
            {.reduce = Reduce::kSum, .weights = weights});
  return out;
}

std::vector<float> sums_of_device(const std::vector<int64_t>& indptr,
                                  const std::vector<int32_t>& indices,
                                  const Rows& x,
                                  const Array* weights) {
  const int64_t num_dst = std::ssize(indptr) - 1, width = x.array.shape[1];
  const auto there = [](const Array& array) {
    const auto* const bytes = static_cast<const uint8_t*>(array.data);
    return DeviceBytes(std::vector<uint8_t>(bytes, bytes + array.bytes()));
  };
  const DeviceBytes offsets(indptr), sources(indices),
      rows = there(x.array), factors = there(weights ? *weights : Array{});
  const DeviceBytes out(std::vector<float>(static_cast<size_t>(num_dst * width), 7));
  const Array on_edges = weights ? on_device(factors, DType::kFloat32, weights->shape) : Array{};
  sum_on_device(on_device(offsets, DType::kInt64, {num_dst + 1}),
                on_device(sources, DType::kInt32, {std::ssize(indices)}),
                on_device(rows, x.array.dtype, x.array.shape), weights ? &on_edges : nullptr,
                on_device(out, DType::kFloat32, {num_dst, width}), nullptr);
  return out.read<float>();
}

TEST_CASE("a device sums the rows of edges as the CPU does") {
  for_each_case([](const Edges& edges, DType dtype, int64_t width, int64_t heads) {
    if (dtype == DType::kFloat64) return;
    const Rows x(dtype, {edges.num_src, width}),
        of_edges(DType::kFloat32, {edges.num_edges(), heads}, 7);
    for (const Array* weights : {static_cast<const Array*>(nullptr), &of_edges.array}) {
      CAPTURE(width);
      CAPTURE(heads);
      CHECK(sums_of_device(edges.indptr, edges.indices, x, weights) ==
            sums_of_cpu(edges, x, weights));
    }
  });
}

// Sources without an edge, with a few, and with more than a warp sorts.
TEST_CASE("a device transposes edges as the CPU does") {
  constexpr int64_t kDst = 3000, kSrc = 900;
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  for (uint64_t d = 0; d < kDst; ++d) {
    for (uint64_t e = 0; e < mix64(d) % 5; ++e)
      indices.push_back(static_cast<int32_t>(mix64(d * 8 + e) % (e == 0 ? 2 : kSrc)));
    indptr.push_back(std::ssize(indices));
  }
  for (const int64_t num_dst : {kDst, int64_t{0}}) {
    indptr.resize(static_cast<size_t>(num_dst) + 1);
    indices.resize(static_cast<size_t>(indptr.back()));
    const auto edges = BlockEdges::trusted(borrow(indptr), borrow(indices), kSrc);
    const BlockEdges::Transposed& expected = edges->transposed(1);
    const CudaStream stream(0);
    const auto pool = DevicePool::create(0)->on(stream.handle());
    const DeviceBytes offsets(indptr), sources(indices);
    const BlockEdges::Transposed given = transpose_on_device(
        on_device(offsets, DType::kInt64, {num_dst + 1}),
        on_device(sources, DType::kInt32, {std::ssize(indices)}), kSrc, *pool, stream.handle());
    stream.synchronize();
    const auto check = [](const Array& one, const Array& other) {
      CHECK(other.dtype == one.dtype);
      REQUIRE(other.shape == one.shape);
      std::vector<char> copied(static_cast<size_t>(other.bytes()));
      if (!copied.empty())
        require_cuda().runtime.copy(0, copied.data(), other.data, other.bytes(), nullptr);
      require_cuda().runtime.synchronize(0, nullptr);
      CHECK((copied.empty() || std::memcmp(copied.data(), one.data, copied.size()) == 0));
    };
    check(expected.indptr, given.indptr);
    check(expected.indices, given.indices);
    check(expected.edges, given.edges);
  }
}

// Compares the bytes of what a device and the CPU make of a table.
void check_table(const Table& table, bool decode, const AggregateOptions& options) {
  const BlockEdges edges = some_edges();
  const std::vector<int64_t> ids = drawn_ids(kSources, kRows);
  const RowForm form = table.form(decode);
  const Array expected = allocate(form.dtype, form.shape_of(kDestinations));
  aggregate_table(edges, table, borrow(ids), expected, options);
  const auto copied = [](const Array& array) {
    const auto* const bytes = static_cast<const uint8_t*>(array.data);
    return DeviceBytes(std::vector<uint8_t>(bytes, bytes + array.bytes()));
  };
  const CudaTable there(table, {.placement = Location::kDevice});
  const DeviceBytes indptr = copied(edges.indptr()), indices = copied(edges.indices()), rows(ids),
                    weights = copied(options.weights ? *options.weights : Array{}),
                    out(static_cast<size_t>(expected.bytes()));
  const Array of_edges =
      options.weights ? on_device(weights, DType::kFloat32, options.weights->shape) : Array{};
  aggregate_table_on_device(
      on_device(indptr, DType::kInt64, edges.indptr().shape),
      on_device(indices, DType::kInt32, edges.indices().shape), there,
      on_device(rows, DType::kInt64, {kSources}), on_device(out, form.dtype, expected.shape),
      {.reduce = options.reduce, .weights = options.weights ? &of_edges : nullptr}, nullptr);
  CHECK(holds(out, expected));
}

TEST_CASE("a device averages the rows of a table as the CPU does, decoded on the way") {
  std::vector<float> weights(kEdges);
  for (size_t e = 0; e < weights.size(); ++e)
    weights[e] = value_at(static_cast<int64_t>(e) + 5);
  const Array of_edges = borrow(weights);
  for (const int64_t width : {1, 9, 64, 100}) {
    CAPTURE(width);
    for (const Array* of : {static_cast<const Array*>(nullptr), &of_edges}) {
      const AggregateOptions options{.reduce = of ? Reduce::kSum : Reduce::kMean, .weights = of};
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
        for (const bool decode : {true, false})
          check_table(table_of(dtype, width), decode, options);
      for (const bool by_row : {true, false})
        check_table(quantized(width, by_row), true, options);
    }
  }
  check_throws(ErrorCode::kInvalidArgument, {"no maxima"},
               [] { check_table(table_of(DType::kFloat32, 4), true, {.reduce = Reduce::kMax}); });
}

TEST_CASE("what does not fit is refused by name, and an index outside of x gives NaN") {
  const Rows x(DType::kFloat32, {3, 8}), wide(DType::kFloat64, {3, 8});
  const std::vector<float> sums = sums_of_device({0, 1, 3}, {2, 0, 3}, x, nullptr);
  CHECK(sums[0] == static_cast<float>(x.values[16]));
  CHECK(std::isnan(sums[8]));
  check_throws(ErrorCode::kInvalidArgument, {"x is float64"},
               [&] { return sums_of_device({0, 1}, {0}, wide, nullptr); });
  const Rows three(DType::kFloat32, {1, 3});
  check_throws(ErrorCode::kInvalidArgument, {"weights have 3 heads"},
               [&] { return sums_of_device({0, 1}, {0}, x, &three.array); });
}

}  // namespace
}  // namespace ramet::test
