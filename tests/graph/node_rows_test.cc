#include "ramet/node_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/part_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

// The slow twin: counts the owned nodes below.
std::vector<int64_t> slow_rows(const std::vector<uint8_t>& owners, uint8_t part) {
  std::vector<int64_t> rows;
  int64_t row = 0;
  for (const uint8_t owner : owners)
    rows.push_back(owner == part ? row++ : -1);
  return rows;
}

void check_rows(const NodeRows& rows, const std::vector<int64_t>& expected) {
  std::vector<int64_t> owned;
  std::vector<int32_t> narrow;
  for (size_t v = 0; v < expected.size(); ++v) {
    REQUIRE(rows.row(static_cast<int64_t>(v)) == expected[v]);
    if (expected[v] < 0) continue;
    owned.push_back(static_cast<int64_t>(v));
    narrow.push_back(static_cast<int32_t>(v));
  }
  REQUIRE(rows.num_rows() == static_cast<int64_t>(owned.size()));
  CHECK(numbers(rows.nodes()) == owned);
  const auto count = std::ssize(owned);
  for (const auto& [begin, end] : {std::pair(count / 3, count / 2), std::pair(count / 2, count),
                                   std::pair(int64_t{0}, count / 5), std::pair(count, count)}) {
    CHECK(numbers(rows.nodes(begin, end)) ==
          std::vector<int64_t>(owned.begin() + begin, owned.begin() + end));
  }
  std::vector<int64_t> in_order(owned.size()), looked_up(owned.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  rows.require(owned, looked_up.data());
  CHECK(looked_up == in_order);
  looked_up.assign(owned.size(), -1);
  rows.require(narrow, looked_up.data());
  CHECK(looked_up == in_order);
}

const NodeRows& rows_of(const Graph& graph) {
  return graph.node_types()[0].rows;
}

}  // namespace

TEST_CASE("rows of a part are the ranks of its nodes") {
  for (const int64_t num_nodes : {1, 63, 64, 65, 447, 448, 449, 896, 5000}) {
    const auto graph = make_graph(num_nodes, 3 * num_nodes, 5);
    for (const int parts : {1, 2, 7}) {
      const auto owners = drawn_ids<uint8_t>(num_nodes, parts, uint64_t(num_nodes));
      for (int part = 0; part < parts; ++part) {
        const auto here = part_of(*graph, owner_vector(owners), part, parts);
        check_rows(rows_of(*here), slow_rows(owners, static_cast<uint8_t>(part)));
        validate(*here);
      }
    }
  }
}

TEST_CASE("a part may own no node, or all, or a range") {
  const auto graph = make_graph(1000, 3000, 5);
  const std::vector<uint8_t> all(1000, 0);
  check_rows(rows_of(*part_of(*graph, owner_vector(all), 0, 2)), slow_rows(all, 0));
  check_rows(rows_of(*part_of(*graph, owner_vector(all), 1, 2)), slow_rows(all, 1));
  const std::vector<int64_t> bounds{0, 300, 300, 1000};
  std::vector<uint8_t> owners(1000, 2);
  std::fill_n(owners.begin(), 300, uint8_t{0});
  for (const uint8_t part : {0, 1, 2}) {
    const auto here = part_of(*graph, borrow(bounds), part, 3);
    check_rows(rows_of(*here), slow_rows(owners, part));
    validate(*here);
  }
  CHECK(rows_of(*graph).is_whole());
  CHECK(rows_of(*graph).row(17) == 17);
}

TEST_CASE("a node of another part is refused by its owner") {
  const auto graph = make_graph(1000, 3000, 5);
  const auto message = "node 17 of type 'node' belongs to part 2; this store is part 1 of 3";
  std::vector<uint8_t> owners(1000, 1);
  owners[17] = 2;
  const std::vector<int64_t> bounds{0, 5, 9, 1000}, nodes{17};
  int64_t row = 0;
  CHECK_THROWS_WITH_AS(rows_of(*part_of(*graph, owner_vector(owners), 1, 3)).require(nodes, &row),
                       message, Error);
  CHECK_THROWS_WITH_AS(rows_of(*part_of(*graph, borrow(bounds), 1, 3)).require(nodes, &row),
                       message, Error);
}

TEST_CASE("rows of a damaged bitmap stay within the part's") {
  const auto graph = make_graph(1000, 3000, 5);
  const auto owners = drawn_ids<uint8_t>(1000, 2, 3);
  StoreContents contents = part_contents(*graph, owner_vector(owners), 0, 2);
  Array& bitmap = contents.arrays[4].second;
  REQUIRE(contents.arrays[4].first == "owned/node");
  bitmap = copy(bitmap);
  auto* words = static_cast<uint64_t*>(bitmap.data);
  words[8] = 1 << 20;  // the count of line 1
  const auto here = graph_of(contents);
  const int64_t first = std::find(owners.begin() + 448, owners.end(), 0) - owners.begin();
  CHECK_THROWS_WITH_AS(rows_of(*here).row(first),
                       doctest::Contains("segment:owned/node, line 1: it makes node"), Error);
  CHECK_THROWS_WITH_AS(validate(*here), doctest::Contains("segment:owned/node, line 1, word 0"),
                       Error);
  words[8] = ~uint64_t{0} << 63;  // a row that would be negative
  CHECK_THROWS_AS(rows_of(*graph_of(contents)).row(first), Error);
  words[8] = static_cast<uint64_t>(std::count(owners.begin(), owners.begin() + 448, 0));
  words[9] ^= 1;  // node 448 comes or goes
  CHECK_THROWS_WITH_AS(rows_of(*graph_of(contents)).nodes(),
                       doctest::Contains("segment:owned/node"), Error);
}
