// Sums of rows over edges on a device against the CPU's, to the bit: docs/semantics.md, section 20.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cuda/rows_fixture.h"
#include "nn/aggregation_cases.h"
#include "ramet/aggregate.h"
#include "support/errors.h"

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
