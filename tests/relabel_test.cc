#include "sampling/relabel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <new>
#include <vector>

#include "graph_fixture.h"
#include "ramet/random.h"
#include "sampling/node_index.h"

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
void run_batch(Table& table, NodeList<Id>& nodes, uint64_t key, int64_t bound, int64_t stride) {
  const auto random_id = [&](uint64_t i) {
    return static_cast<Id>(static_cast<int64_t>(absorb(key, i) % static_cast<uint64_t>(bound)) *
                           stride);
  };
  std::vector<Id> seeds;
  for (uint64_t i = 0; i < 100; ++i)
    seeds.push_back(random_id(i % 90));
  Twin<Id> twin(seeds);
  table.start_batch(nodes.size());
  nodes.set_size(0);
  nodes.reserve(seeds.size() + 1);
  std::copy(seeds.begin(), seeds.end(), nodes.data());
  nodes.set_size(seeds.size());
  table.reserve(seeds.size(), nodes);
  table.enter(nodes);
  for (uint64_t hop = 1; hop <= 4; ++hop) {
    std::vector<Id> ids;
    for (uint64_t i = 0; i < 2000 * hop; ++i)
      ids.push_back(random_id(hop * 100'000 + i));
    nodes.reserve(nodes.size() + ids.size() + 1);
    table.reserve(nodes.size() + ids.size(), nodes);
    std::vector<int32_t> local(ids.size()), expected;
    for (const Id id : ids)
      table.request_slot(id);
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
  CHECK_THROWS_AS(nodes.reserve(size_t{1} << 62), std::bad_alloc);
  nodes.reserve(100);
  std::fill_n(nodes.data(), 100, 7);  // the address sanitizer sees if they are not there
  CHECK(nodes.size() == 3);
}

TEST_CASE("a direct table is for graphs beside which it is small") {
  CHECK(affords_direct_table(*test::make_graph(100, 200, 1), 100));  // small anyway
  CHECK_FALSE(affords_direct_table(*test::make_graph(100, 200, 1), 150'000'000));
  CHECK_FALSE(affords_direct_table(*test::make_graph(100, 200, 1), int64_t{1} << 62));
}
