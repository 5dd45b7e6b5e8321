// Names of options, and keys of trees. Batches are compared with the twin by
// tests/python/sampling.
#include <doctest/doctest.h>

#include <set>

#include "ramet/error.h"
#include "ramet/sample_options.h"
#include "sampling/trees.h"

using namespace ramet;

TEST_CASE("names of options") {
  CHECK(parse_expand("once") == Expand::kOnce);
  CHECK(parse_strategy("last") == Strategy::kLast);
  CHECK(parse_comparison("<") == Comparison::kBefore);
  CHECK(parse_comparison(">") == Comparison::kAfter);
  CHECK_THROWS_WITH_AS(parse_expand("twice"), "expand is 'twice', expected 'every' or 'once'",
                       Error);
}

TEST_CASE("keys of trees are the tree and the id") {
  for (const int64_t num_nodes : {int64_t{1}, int64_t{2}, int64_t{1000}, int64_t{1} << 40}) {
    CAPTURE(num_nodes);
    const TreeKeys keys(NodeType{.name = "n", .num_nodes = num_nodes});
    std::set<int64_t> found;
    for (const int64_t tree : {0, 1, 77, 4'000'000}) {
      for (const int64_t id : {int64_t{0}, num_nodes / 2, num_nodes - 1}) {
        const int64_t key = keys.key(tree, id);
        CHECK(keys.tree(key) == tree);
        CHECK(keys.id(key) == id);
        found.insert(key);
      }
    }
    CHECK(found.size() == 4 * std::set<int64_t>{0, num_nodes / 2, num_nodes - 1}.size());
  }
}

TEST_CASE("trees and ids that need more than 63 bits are refused") {
  const TreeKeys keys(NodeType{.name = "n", .num_nodes = int64_t{1} << 40});
  keys.require(int64_t{1} << 23);
  CHECK_THROWS_WITH_AS(keys.require((int64_t{1} << 23) + 1),
                       "8388609 disjoint trees of a node type whose ids have 40 bits, expected at "
                       "most 2^23; use a smaller batch_size",
                       Error);
}
