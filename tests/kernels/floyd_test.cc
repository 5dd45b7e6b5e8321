#include "kernels/cpu/floyd.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/cpu/pick.h"
#include "ramet/random.h"
#include "ramet/sampler.h"
#include "sampling/row_picker.h"
#include "support/each_isa.h"
#include "support/unabsorb.h"

using namespace ramet;

namespace {

uint64_t& node_of(FloydRows& rows, int r) {
  return rows.node[r % 2][r / 2];
}

std::vector<int64_t> picks_alone(const DrawKeys& hop_keys,
                                 int64_t node,
                                 int64_t degree,
                                 int64_t fanout) {
  const PickRule rule{fanout, false};
  std::vector<int64_t> picks(static_cast<size_t>(num_picks(rule, degree)));
  Picker(rule).pick(node_keys(hop_keys, node), degree, picks.data());
  return picks;
}

// Plain ones, and those of a step in the middle of a block.
std::vector<DrawKeys> keys_of(uint64_t key) {
  return {{key}, {key, mix64(key), mixture_of(3, 8)}};
}

void check_row(const FloydPicks& picks, int r, const std::vector<int64_t>& expected) {
  for (size_t t = 0; t < expected.size(); ++t)
    REQUIRE(picks.of[t][r] == static_cast<uint32_t>(expected[t]));
}

}  // namespace

// docs/semantics.md, section 3.
TEST_CASE("every kernel picks what the scalar picker picks, for every fanout") {
  for (const FloydKernel kernel : of_each_isa(&IsaKernels::floyd)) {
    for (int fanout = 1; fanout <= kFloydMaxFanout; ++fanout) {
      for (uint64_t round = 0; round < 20; ++round) {
        const uint64_t hop_key = absorb(round, static_cast<uint64_t>(fanout));
        FloydRows rows = {};
        for (int r = 0; r < kFloydRows; ++r) {
          // From one more than the fanout, where most draws collide, to the largest degree.
          const uint64_t bits = 1 + (round * 16 + static_cast<uint64_t>(r)) % 32;
          const uint64_t most = (uint64_t{1} << bits) - 1;
          node_of(rows, r) = absorb(hop_key, static_cast<uint64_t>(r)) >> (round % 2 == 0 ? 1 : 40);
          rows.degree[r] = static_cast<uint32_t>(
              std::max(most - mix64(round) % (most / 2 + 1), static_cast<uint64_t>(fanout) + 1));
        }
        for (const DrawKeys& keys : keys_of(hop_key)) {
          FloydPicks picks;
          REQUIRE(kernel(keys, fanout, rows, picks) == 0);
          for (int r = 0; r < kFloydRows; ++r) {
            const auto node = static_cast<int64_t>(node_of(rows, r));
            check_row(picks, r, picks_alone(keys, node, rows.degree[r], fanout));
          }
        }
      }
    }
  }
}

// docs/semantics.md, section 2: the draw that is repeated. A random test would meet none.
TEST_CASE(
    "a row with a draw that may have to be repeated is reported, and repeated where it must") {
  constexpr int kFanout = 3, kRow = 5, kNode = 77;
  constexpr int64_t kDegree = 3'000'000'000;
  for (const uint64_t t : {0ULL, 1ULL, 2ULL}) {
    const uint64_t n = kDegree - kFanout + t + 1;
    const uint64_t threshold = (0 - n) % n;
    uint64_t quotient = 1'234'567, r = 0;
    do {  // until r * n is so little above a multiple of 2^64 that r is rejected
      ++quotient;
      r = static_cast<uint64_t>(((static_cast<uint128_t>(quotient) << 64) + n - 1) / n);
    } while (r * n >= threshold);
    REQUIRE(uniform_below(r, n) != quotient);
    const uint64_t hop_key = unabsorb(unabsorb(r, t), kNode);
    REQUIRE(absorb(node_key(hop_key, kNode), t) == r);

    FloydRows rows = {};
    std::vector<int64_t> nodes;
    std::vector<Row> csc_rows;
    for (int i = 0; i < kFloydRows; ++i) {
      nodes.push_back(i == kRow ? kNode : 1000 + i);
      csc_rows.push_back({i * kDegree, kDegree});
      node_of(rows, i) = static_cast<uint64_t>(nodes.back());
      rows.degree[i] = static_cast<uint32_t>(kDegree);
    }
    FloydPicks picks;
    for (const FloydKernel kernel : of_each_isa(&IsaKernels::floyd)) {
      const uint32_t suspects = kernel({hop_key}, kFanout, rows, picks);
      CHECK(suspects == (kernel == floyd_portable ? 0 : 1U << kRow));
    }
    RowPicker picker({kFanout, false}, {hop_key}, std::span<const int64_t>(nodes), csc_rows);
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::vector<int64_t> got;
      picker.pick(i, [&](int64_t p) { got.push_back(p - csc_rows[i].begin); });
      CHECK(got == picks_alone({hop_key}, nodes[i], kDegree, kFanout));
    }
  }
}

// Half of the dependent words are multiples of 2^12, so with this n a product in 2^23 ends in 64
// zeros: search finds one, and it has to be repeated.
TEST_CASE("a dependent word that must be repeated is") {
  constexpr int64_t kDegree = int64_t{3} << 30;
  const FloydKernel kernel = best_kernels().floyd;
  if (kernel == floyd_portable) return;
  FloydRows rows = {};
  for (int r = 0; r < kFloydRows; ++r) {
    node_of(rows, r) = static_cast<uint64_t>(r);
    rows.degree[r] = static_cast<uint32_t>(kDegree);
  }
  DrawKeys keys{0, 1, mixture_of(3, 8)};
  FloydPicks picks;
  uint32_t suspects = 0;
  while (suspects == 0) {
    REQUIRE(++keys.now < 1 << 22);
    suspects = kernel(keys, 1, rows, picks);
  }
  const int64_t node = std::countr_zero(suspects);
  const uint64_t r = draw_word(node_keys(keys, node), 0), n = kDegree;
  CHECK(r * n == 0);
  CHECK(uniform_below(r, n) == uniform_below(mix64(r + kGolden), n));
  const Row row{0, kDegree};
  RowPicker picker({1, false}, keys, std::span<const int64_t>(&node, 1), {&row, 1});
  picker.pick(0, [&](int64_t p) { CHECK(p == picks_alone(keys, node, kDegree, 1)[0]); });
}

TEST_CASE("rows of all kinds come in order: empty, whole, in lanes, and too long for 32 bits") {
  std::vector<int32_t> nodes;
  std::vector<Row> rows;
  int64_t begin = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    const int64_t degrees[] = {0, 3, 10, 11, 40, 5000, int64_t{1} << 33};
    nodes.push_back(static_cast<int32_t>(mix64(i) >> 40));
    rows.push_back({begin, degrees[mix64(~i) % 7]});
    begin += rows.back().degree;
  }
  for (const PickRule rule : {PickRule{10, false}, PickRule{1, false}, PickRule{33, false},
                              PickRule{4, true}, PickRule{0, false}}) {
    for (const DrawKeys& keys : keys_of(99)) {
      RowPicker picker(rule, keys, std::span<const int32_t>(nodes), rows);
      for (size_t i = 0; i < nodes.size(); ++i) {
        std::vector<int64_t> got, expected(static_cast<size_t>(num_picks(rule, rows[i].degree)));
        picker.pick(i, [&](int64_t p) { got.push_back(p - rows[i].begin); });
        Picker(rule).pick(node_keys(keys, nodes[i]), rows[i].degree, expected.data());
        REQUIRE(got == expected);
      }
    }
  }
}
