#include "sampling/relabel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <new>
#include <set>
#include <vector>

#include "ramet/random.h"
#include "sampling/node_index.h"
#include "sampling/slot_multiplier.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

// A slow, obvious twin of a table and its list.
template <typename Id>
struct Twin {
  std::vector<Id> nodes;
  std::map<Id, int32_t> position_of;

  explicit Twin(std::vector<Id> seeds) : nodes(std::move(seeds)) {
    for (size_t i = 0; i < nodes.size(); ++i)
      position_of.try_emplace(nodes[i], static_cast<int32_t>(i));
  }
  int32_t relabel(Id id) {
    const auto next = static_cast<int32_t>(nodes.size());
    const auto [it, is_new] = position_of.try_emplace(id, next);
    if (is_new) nodes.push_back(id);
    return it->second;
  }
};

// One batch: seeds, some of them twice, then four hops of ids below `bound`, times `stride`.
template <typename Id, typename Table>
void run_batch(Table& table,
               NodeList<Id>& nodes,
               uint64_t key,
               int64_t bound,
               int64_t stride,
               const KeyTrees& trees = {}) {
  const auto random_id = [&](uint64_t i) {
    return static_cast<Id>(static_cast<int64_t>(absorb(key, i) % static_cast<uint64_t>(bound)) *
                           stride);
  };
  std::vector<Id> seeds;
  for (uint64_t i = 0; i < 100; ++i)
    seeds.push_back(random_id(i % 90));
  Twin<Id> twin(seeds);
  table.start_batch(nodes.size(), trees);
  nodes.set_size(0);
  nodes.reserve(seeds.size() + 1);
  std::copy(seeds.begin(), seeds.end(), nodes.data());
  nodes.set_size(seeds.size());
  table.reserve(seeds.size(), nodes);
  table.insert(nodes);
  for (uint64_t hop = 1; hop <= 4; ++hop) {
    std::vector<Id> ids;
    for (uint64_t i = 0; i < 2000 * hop; ++i)
      ids.push_back(random_id(hop * 100'000 + i));
    nodes.reserve(nodes.size() + ids.size() + 1);
    table.reserve(nodes.size() + ids.size(), nodes);
    std::vector<int32_t> local(ids.size()), expected;
    table.relabel(std::span<const Id>(ids), nodes, local.data());
    for (const Id id : ids)
      expected.push_back(twin.relabel(id));
    REQUIRE(local == expected);
  }
  REQUIRE(std::vector<Id>(nodes.ids().begin(), nodes.ids().end()) == twin.nodes);
}

}  // namespace

TEST_CASE("a direct table equals a map, over many batches") {
  DirectTable table({0, 30'000});
  NodeList<int32_t> nodes;
  for (uint64_t batch = 0; batch < 20; ++batch)
    run_batch(table, nodes, batch, batch % 3 == 0 ? 30'000 : 500, 1);
}

TEST_CASE("a hash table equals a map, over many batches and growth, with ids above 100 million") {
  HashTable<int32_t> table;
  NodeList<int32_t> nodes;
  for (uint64_t batch = 0; batch < 20; ++batch)
    run_batch(table, nodes, batch, batch % 3 == 0 ? 30'000 : 500, 71'000);
  HashTable<int64_t> wide;
  NodeList<int64_t> wide_nodes;
  for (uint64_t batch = 0; batch < 20; ++batch)
    run_batch(wide, wide_nodes, batch, 30'000, int64_t{1} << 33);
}

TEST_CASE("a hash table equals a map, however even or uneven trees are") {
  HashTable<int64_t> table;
  NodeList<int64_t> nodes;
  // Each id a tree; 128 of them; two trees; all in the first of many; more trees than were said.
  const std::vector<KeyTrees> several{{33, 30'000}, {40, 240}, {47, 2}, {60, 1000}, {33, 7}};
  for (uint64_t batch = 0; batch < 2 * several.size(); ++batch)
    run_batch(table, nodes, batch, 30'000, int64_t{1} << 33, several[batch % several.size()]);
}

TEST_CASE("tables outlive 2^32 nodes") {
  DirectTable direct({0, 1000});
  HashTable<int32_t> hash;
  NodeList<int32_t> nodes;
  for (uint64_t batch = 0; batch < 12; ++batch) {
    // As if the batch before had been large: the starts pass 2^31 on the second turn.
    direct.start_batch((size_t{1} << 30) - 3);
    hash.start_batch((size_t{1} << 30) - 3);
    run_batch(direct, nodes, batch, 1000, 1);
    run_batch(hash, nodes, batch, 1000, 1);
  }
}

TEST_CASE("a start that would pass 2^31, and one that would wrap around, begin anew") {
  BatchStart start;
  CHECK(start.advance((size_t{1} << 31) - 2));
  CHECK(start.value() == (uint32_t{1} << 31) - 1);
  CHECK_FALSE(start.advance((size_t{1} << 31) + 500));  // 2^32 + 499
  CHECK(start.value() == 1);
}

TEST_CASE("a list of nodes that could not grow is as it was") {
  NodeList<int32_t> nodes;
  nodes.reserve(3);
  nodes.set_size(3);
#if !defined(RAMET_SANITIZED) || !defined(__clang__)  // which would end the process
  CHECK_THROWS_AS(nodes.reserve(size_t{1} << 62), std::bad_alloc);
#endif
  nodes.reserve(100);
  std::fill_n(nodes.data(), 100, 7);  // the address sanitizer sees if they are not there
  CHECK(nodes.size() == 3);
}

TEST_CASE("a direct table is for graphs beside which it is small") {
  const auto graph = test::make_graph(100, 200, 1);
  const auto limit_of = [&](const std::vector<int64_t>& sizes) {
    std::vector<NodeRange> ranges;
    for (const int64_t size : sizes)
      ranges.push_back({7, 7 + size});
    return direct_table_limit(*graph, ranges);
  };
  CHECK(limit_of({100}) == 100);  // small anyway
  CHECK(limit_of({150'000'000}) < 0);
  CHECK(limit_of({int64_t{1} << 62}) < 0);
  CHECK(limit_of({int64_t{1} << 62, 3, int64_t{1} << 62, 0}) == 3);
  CHECK(limit_of({}) < 0);
}

TEST_CASE("direct tables of many node types are bounded together") {
  const auto graph = test::make_graph(100, 200, 1);
  const std::vector<NodeRange> many(20'000, NodeRange{0, 16'000});
  CHECK(direct_table_limit(*graph, many) < 0);
  std::vector<NodeRange> some(4, NodeRange{0, 4000});  // 64,000 bytes
  CHECK(direct_table_limit(*graph, some) == 4000);
  some.push_back({0, 4000});
  CHECK(direct_table_limit(*graph, some) < 0);
  some.back() = {0, 5000};
  CHECK(direct_table_limit(*graph, some) == 4000);
}

namespace {

// How many different slots of `slots` ids have.
template <typename Ids>
size_t distinct_slots(const Ids& ids, uint64_t multiplier, size_t slots) {
  std::vector<bool> found(slots);
  for (const uint64_t id : ids)
    found[(id * multiplier) >> (64 - std::countr_zero(slots))] = true;
  return static_cast<size_t>(std::count(found.begin(), found.end(), true));
}

}  // namespace

TEST_CASE("ids made for one multiplier are spread by the others, and runs of ids by all") {
  constexpr size_t kIds = 10'000, kSlots = 16'384;
  uint64_t inverse = kGolden;  // of golden, modulo 2^64, by Newton's iteration
  for (int i = 0; i < 6; ++i)
    inverse *= 2 - kGolden * inverse;
  std::vector<uint64_t> made, run;
  for (uint64_t i = 0; i < kIds; ++i) {
    made.push_back(i * inverse);
    run.push_back(i + (uint64_t{1} << 31));
  }
  CHECK(distinct_slots(made, kGolden, kSlots) == 1);
  std::set<uint64_t> multipliers;
  for (uint64_t random = 1; random <= 200; ++random) {
    const uint64_t multiplier = slot_multiplier(mix64(random));
    multipliers.insert(multiplier);
    CHECK(distinct_slots(made, multiplier, kSlots) > kIds / 10);
    CHECK(distinct_slots(run, multiplier, kSlots) > kIds * 9 / 10);
  }
  CHECK(multipliers.size() == 200);
  CHECK(unpredictable_slot_multiplier() != unpredictable_slot_multiplier());
}

TEST_CASE("what a hash table gives does not depend on its multiplier") {
  for (uint64_t random = 0; random < 5; ++random) {
    HashTable<int64_t> table(slot_multiplier(mix64(random)));
    NodeList<int64_t> nodes;
    for (uint64_t batch = 0; batch < 3; ++batch)
      run_batch(table, nodes, batch, 30'000, int64_t{1} << 20);
  }
}

TEST_CASE("a hash table without nodes takes no memory, and grows from there") {
  HashTable<int32_t> table;
  NodeList<int32_t> nodes;
  table.start_batch(0);
  table.reserve(0, nodes);
  table.insert(nodes);
  table.relabel(std::span<const int32_t>(), nodes, nullptr);
  CHECK(nodes.size() == 0);
  run_batch(table, nodes, 3, 30'000, 71'000);
}
