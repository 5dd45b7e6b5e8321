// The c of rows in LABOR-i and in LABOR by weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/block_sum.h"
#include "base/exponential_lanes.h"
#include "base/lanes_scalar.h"
#include "cuda/kernel_rows.h"
#include "ramet/random.h"
#include "sampling/solve_c.h"

namespace ramet {

// Their sum depends on the order in which it is added up, which batches would hardly show:
// docs/semantics.md, section 8. One row is longer than a block of terms.
TEST_CASE("the c of a row has the bits of the host's") {
  const FarRows far(kDegrees, [](int64_t degree) { return degree; });
  const RowsOnDevice rows(far);
  constexpr uint64_t kCandidates = 500;
  std::vector<double> p;
  for (uint64_t i = 0; i < kCandidates; ++i)
    p.push_back(std::exp(static_cast<double>(mix64(i) % 1000) / 100 - 5));
  std::vector<int32_t> candidate;
  for (uint64_t e = 0; e < static_cast<uint64_t>(far.offsets.back()); ++e)
    candidate.push_back(static_cast<int32_t>(uniform_below(mix64(e + 77), kCandidates)));
  const DeviceBytes device_p(p), device_candidate(candidate);
  const DeviceBytes c(kDegrees.size() * sizeof(double));
  for (const int64_t fanout : {-1, 1, 10, 64, 3000}) {
    CAPTURE(fanout);
    const DeviceBytes largest(std::vector<double>(kCandidates, 0));
    kernels().solve(0,
                    {.rows = rows.view,
                     .num_edges = far.offsets.back(),
                     .fanout = fanout,
                     .p = device_p.as<double>(),
                     .candidate = device_candidate.as<int32_t>(),
                     .c = c.as<double>(),
                     .largest = largest.as<double>()},
                    nullptr);
    std::vector<double> expected, expected_largest(kCandidates, 0);
    for (size_t i = 0; i < kDegrees.size(); ++i) {
      std::vector<double> of_row, inverse;
      const auto first = size_t(far.offsets[i]);
      const auto end = size_t(far.offsets[i + 1]);
      for (size_t e = first; e < end; ++e)
        of_row.push_back(p[size_t(candidate[e])]);
      for (const double of_source : of_row)
        inverse.push_back(1 / of_source);
      expected.push_back(solve_c(of_row, inverse, fanout));
      for (size_t e = first; e < end; ++e) {
        double& most = expected_largest[size_t(candidate[e])];
        most = std::max(most, expected.back());
      }
    }
    CHECK(c.read<double>() == expected);
    CHECK(largest.read<double>() == expected_largest);
  }
}

// The same with weights, of which none is 0.
TEST_CASE("by weights the c of a row, and its variance, have the bits of the host's") {
  FarRows far(kDegrees, [](int64_t degree) { return degree; });
  for (size_t i = 0; i < kDegrees.size(); ++i)
    far.rows[i].begin = far.offsets[i];  // where weights stand
  const RowsOnDevice rows(far);
  const int64_t num_edges = far.offsets.back();
  std::vector<double> weights, p;
  std::vector<int32_t> candidate;
  for (int64_t e = 0; e < num_edges; ++e) {
    const auto word = mix64(static_cast<uint64_t>(e));
    weights.push_back(std::exp(static_cast<double>(word % 1000) / 100 - 5));
    p.push_back(fraction_lanes<Scalar>(mix64(word)));
    candidate.push_back(static_cast<int32_t>(e));
  }
  const DeviceBytes device_weights(weights), device_p(p), device_candidate(candidate);
  const DeviceBytes marks(size_t(cuda_mark_words(num_edges)) * sizeof(uint32_t));
  const DeviceBytes row_weight(kDegrees.size() * sizeof(double)), c(row_weight.size());
  const DeviceBytes variance(row_weight.size()), share(device_weights.size());
  const CudaWeights given{device_weights.get(), true};
  for (const int64_t fanout : {-1, 1, 10, 64, 3000}) {
    CAPTURE(fanout);
    const CudaMarkArgs mark{rows.view, num_edges, fanout, {}, marks.as<uint32_t>()};
    kernels().mark_shares(0, mark, {given, row_weight.as<double>()}, nullptr);
    std::vector<double> solved[2];
    for (const bool is_first : {true, false}) {
      kernels().solve(0,
                      {.rows = rows.view,
                       .num_edges = num_edges,
                       .fanout = fanout,
                       .p = device_p.as<double>(),
                       .candidate = device_candidate.as<int32_t>(),
                       .c = c.as<double>(),
                       .largest = nullptr,
                       .shares = {given, row_weight.as<double>(), share.as<double>(),
                                  variance.as<double>(), is_first}},
                      nullptr);
      solved[is_first ? 0 : 1] = c.read<double>();
    }
    for (size_t i = 0; i < kDegrees.size(); ++i) {
      const auto first = size_t(far.offsets[i]), count = size_t(kDegrees[i]);
      std::vector<double> shares(count);
      const double sum = sum_in_blocks(count, [&](size_t e) { return weights[first + e]; });
      for (size_t e = 0; e < count; ++e)
        shares[e] = weights[first + e] / sum;
      const double expected = solve_c_of_shares(shares, fanout);
      CHECK(solved[0][i] == expected);
      CHECK(variance.read<double>()[i] == variance_of_shares(shares, expected));
      CHECK(solved[1][i] == solve_c_of_variance(std::span(p).subspan(first, count), shares,
                                                variance_of_shares(shares, expected)));
    }
  }
}

}  // namespace ramet
