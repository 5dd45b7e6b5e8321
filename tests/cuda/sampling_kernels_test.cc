// What the sampling kernels do where a whole batch cannot show it in a test: positions above 2^31,
// lists that are full.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "cuda/kernel_rows.h"
#include "kernels/cpu/pick.h"
#include "kernels/cuda_backend.h"
#include "ramet/random.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

// Where the picks stand, by the host's Picker.
std::vector<int64_t> expected_positions(const FarRows& rows,
                                        const PickRule& rule,
                                        const DrawKeys& keys) {
  std::vector<int64_t> positions;
  Picker picker(rule);
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const CudaRow& row = rows.rows[i];
    std::vector<int64_t> picks(size_t(num_picks(rule, row.degree)));
    picker.pick(node_keys(keys, rows.nodes[i]), row.degree, picks.data());
    for (const int64_t pick : picks)
      positions.push_back(row.begin + pick);
  }
  return positions;
}

}  // namespace

TEST_CASE("blocks of items know the row that they begin in") {
  const auto check = [](const std::vector<int64_t>& counts) {
    std::vector<int64_t> offsets{0};
    for (const int64_t count : counts)
      offsets.push_back(offsets.back() + count);
    std::vector<int32_t> expected;
    for (int64_t block = 0; block < cuda_first_rows(offsets.back()); ++block) {
      size_t row = counts.size() - 1;
      while (offsets[row] > block * kCudaItems)
        --row;
      expected.push_back(static_cast<int32_t>(row));
    }
    const DeviceBytes offset(offsets);
    CHECK(FirstRows(offset, offsets).read<int32_t>() == expected);
  };
  check({1});
  check({255, 1, 1});
  check({256});
  check({0, 0, 600, 0, 0, 3, 0});
  check(std::vector<int64_t>(1000, 1));
  check({0, 100'000, 0, 1, 255, 256, 257, 0});
}

// Or they would wrap around before the host sees them.
TEST_CASE("sums of rows stay above what a hop may have, and in 64 bits") {
  static_assert(cuda_max_in_edges(0) == cuda_max_in_edges(1));
  static_assert(cuda_max_in_edges(1) > int64_t{1} << 38);
  constexpr int64_t kMostRows = (int64_t{1} << 31) - 1;
  static_assert(cuda_max_in_edges(kMostRows) + 1 <= INT64_MAX / kMostRows);
  const std::vector<int64_t> indptr{0, 50, 53, 53}, nodes{0, 1, 2, 0};
  const DeviceBytes device_indptr(indptr), device_nodes(nodes);
  const DeviceBytes row(nodes.size() * sizeof(CudaRow)), offset(5 * sizeof(int64_t));
  const DeviceBytes bad(std::vector<uint64_t>{kNoneBad});
  const Scan scan(4);
  kernels().rows(0,
                 {.edges = {device_indptr.as<int64_t>(), nullptr, false, 53, 3},
                  .rows = device_nodes.as<int64_t>(),
                  .num_dst = 4,
                  .fanout = -1,
                  .replace = false,
                  .most = 20,
                  .row = row.as<CudaRow>(),
                  .offset = offset.as<int64_t>(),
                  .bad = bad.as<uint64_t>(),
                  .scan = scan.view()},
                 nullptr);
  CHECK(offset.read<int64_t>() == std::vector<int64_t>{0, 21, 24, 24, 45});
}

TEST_CASE("in-edges beyond number 2^32 become candidates") {
  constexpr int64_t kFirst = int64_t{1} << 32;
  std::vector<int32_t> indices(305);
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<int32_t>(i * 7 % 100);
  indices[100] = 100;  // no node
  const std::vector<CudaRow> rows{{0, kFirst}, {5, 3}, {0, 0}, {8, 297}};
  const std::vector<int64_t> offsets{0, kFirst, kFirst + 3, kFirst + 3, kFirst + 300};
  const DeviceBytes device_indices(indices), row(rows), offset(offsets);
  const DeviceBytes sources(300 * sizeof(int64_t));
  const DeviceBytes slots(std::vector<uint32_t>(100, ~0U));
  const DeviceBytes bad(std::vector<uint64_t>{kNoneBad});
  const DeviceBytes first_row(size_t(cuda_first_rows(offsets.back())) * 4);
  const std::vector<int32_t> last_of_them{1, 3, 3};  // the others are not looked at
  runtime().copy(0, first_row.as<int32_t>() + kFirst / kCudaItems, last_of_them.data(), 12,
                 nullptr);
  kernels().load_in_edges(
      0,
      {.edges = {nullptr, device_indices.get(), false, 305, 100},
       .rows = {nullptr, row.as<CudaRow>(), offset.as<int64_t>(), first_row.as<int32_t>(), 4},
       .first = kFirst,
       .count = 300,
       .sources = sources.as<int64_t>(),
       .table = {slots.as<uint32_t>()},
       .bad = bad.as<uint64_t>()},
      nullptr);
  std::vector<int64_t> expected(indices.begin() + 5, indices.end());
  expected[95] = -1;
  CHECK(sources.read<int64_t>() == expected);
  CHECK(bad.read<uint64_t>()[0] == 3);               // the destination
  CHECK(slots.read<uint32_t>()[35] == 0x80000000U);  // the first of all
}

TEST_CASE("positions above 2^31 are picked in 64 bits") {
  const DrawKeys keys{12345};
  for (const PickRule rule :
       {PickRule{5}, PickRule{32}, PickRule{33}, PickRule{63}, PickRule{64}, PickRule{65},
        PickRule{255}, PickRule{256}, PickRule{257}, PickRule{1000}, PickRule{1024},
        PickRule{kAllNeighbors}, PickRule{7, true}, PickRule{500, true}}) {
    CAPTURE(rule.fanout);
    const FarRows far(kDegrees, [&](int64_t degree) { return num_picks(rule, degree); });
    const RowsOnDevice rows(far);
    const auto expected = expected_positions(far, rule, keys);
    const DeviceBytes positions(expected.size() * sizeof(int64_t));
    kernels().pick(0,
                   {.rows = rows.view,
                    .num_picks = far.offsets.back(),
                    .fanout = rule.fanout,
                    .replace = rule.replace,
                    .draws = {keys, {}},
                    .positions = {positions.get(), true}},
                   nullptr);
    CHECK(positions.read<int64_t>() == expected);
  }
}

TEST_CASE("marks become positions above 2^31, whatever the number of picks") {
  const DrawKeys keys{777};
  for (const int64_t fanout : {33, 64, 65, 299, 4999, 6000}) {
    CAPTURE(fanout);
    const FarRows far(kDegrees, [](int64_t degree) { return degree; });
    const RowsOnDevice rows(far);
    const int64_t num_edges = far.offsets.back(), num_blocks = cuda_mark_blocks(num_edges);
    DeviceBytes marks(size_t(cuda_mark_words(num_edges)) * sizeof(uint32_t));
    marks.fill(0);
    kernels().mark_floyd(0, {rows.view, num_edges, fanout, {keys, {}}, marks.as<uint32_t>()},
                         nullptr);
    const DeviceBytes rank(size_t(num_blocks + 1) * sizeof(int64_t));
    const DeviceBytes indptr(far.offsets.size() * sizeof(int64_t));
    const Scan scan(num_blocks);
    kernels().rank(0,
                   {.marks = marks.as<uint32_t>(),
                    .num_edges = num_edges,
                    .rank = rank.as<int64_t>(),
                    .offset = rows.view.offset,
                    .num_dst = rows.view.num_dst,
                    .marks_before = indptr.as<int64_t>(),
                    .scan = scan.view()},
                   nullptr);
    const auto expected = expected_positions(far, {fanout}, keys);
    CHECK(indptr.read<int64_t>().back() == int64_t(expected.size()));
    const DeviceBytes positions(expected.size() * sizeof(int64_t));
    kernels().take_marked(0,
                          {.rows = rows.view,
                           .num_edges = num_edges,
                           .marks = marks.as<uint32_t>(),
                           .rank = rank.as<int64_t>(),
                           .positions = {positions.get(), true},
                           .weight = nullptr,
                           .fanout = fanout,
                           .indptr = indptr.as<int64_t>()},
                          nullptr);
    CHECK(positions.read<int64_t>() == expected);
  }
}

// Batches hardly ever have equal numbers.
TEST_CASE("of equal numbers the first in-edges are marked, or the last") {
  const FarRows far(kDegrees, [](int64_t degree) { return degree; });
  const RowsOnDevice rows(far);
  const int64_t num_edges = far.offsets.back();
  std::vector<uint64_t> numbers;
  for (int64_t e = 0; e < num_edges; ++e) {
    const uint64_t word = mix64(static_cast<uint64_t>(e));
    numbers.push_back(word % 5 == 0 ? kNotDrawn : word % 7 * (kNotDrawn / 8));
  }
  const DeviceBytes number(numbers), limit(kDegrees.size() * sizeof(CudaLimit));
  const DeviceBytes marks(size_t(cuda_mark_words(num_edges)) * sizeof(uint32_t));
  for (const int64_t fanout : {-1, -2, 1, 2, 10, 11, 64, 65, 700}) {
    CAPTURE(fanout);
    const bool takes_last = fanout % 2 != 0;
    kernels().mark_smallest(0,
                            {.mark = {rows.view, num_edges, fanout, {}, marks.as<uint32_t>()},
                             .number = number.as<uint64_t>(),
                             .are_weighted = true,
                             .takes_last = takes_last,
                             .limit = limit.as<CudaLimit>()},
                            nullptr);
    std::vector<uint32_t> expected(size_t(cuda_mark_words(num_edges)));
    for (size_t i = 0; i < kDegrees.size(); ++i) {
      std::vector<std::pair<uint64_t, int64_t>> drawn;
      for (int64_t e = far.offsets[i]; e < far.offsets[i + 1]; ++e)
        if (numbers[size_t(e)] != kNotDrawn)
          drawn.emplace_back(numbers[size_t(e)], takes_last ? -e : e);
      std::sort(drawn.begin(), drawn.end());
      if (fanout >= 0) drawn.resize(std::min(drawn.size(), size_t(fanout)));
      for (const auto& [n, position] : drawn) {
        const auto e = static_cast<size_t>(std::abs(position));
        expected[e / 32] |= 1U << (e % 32);
      }
    }
    CHECK(marks.read<uint32_t>() == expected);
  }
}

TEST_CASE("nodes that a list has no room for are counted, and nothing is written behind it") {
  constexpr size_t kNodes = 1000;
  std::vector<int64_t> sources(700);
  std::iota(sources.rbegin(), sources.rend(), 100);  // 799 to 100
  sources[5] = 799;
  sources[6] = -1;  // an id that did not fit
  const DeviceBytes device_sources(sources), nodes(std::vector<int64_t>(300, -1));
  const DeviceBytes size(std::vector<int64_t>{0});
  std::vector<uint32_t> claimed(kNodes, ~0U);
  for (size_t e = sources.size(); e-- > 0;) {
    if (sources[e] >= 0) claimed[size_t(sources[e])] = 0x80000000U + static_cast<uint32_t>(e);
  }
  const DeviceBytes device_slots(claimed);
  const DeviceBytes rank(sources.size() * sizeof(uint32_t));
  const DeviceBytes local(std::vector<int32_t>(sources.size(), -1));  // those of bad ids stay
  const Scan scan(700);
  kernels().number(
      0,
      {.sources = device_sources.as<int64_t>(),
       .num_picks = 700,
       .list = {{device_slots.as<uint32_t>()}, nodes.as<int64_t>(), 300, size.as<int64_t>()},
       .rank = rank.as<uint32_t>(),
       .local = local.as<int32_t>(),
       .scan = scan.view()},
      nullptr);
  CHECK(size.read<int64_t>()[0] == 698);
  const auto kept = nodes.read<int64_t>();
  const auto given = local.read<int32_t>();
  CHECK(kept[0] == 799);
  CHECK(kept[5] == 792);  // number 5 is a repeat, 6 bad
  CHECK(given[5] == 0);
  CHECK(given[699] == 697);
}

}  // namespace ramet
