// What sampling each node once, disjoint trees and time change in options and keys. The batches
// are compared with the twin by tests/python/sampling.
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "ramet/cuda_sampler.h"
#include "ramet/error.h"
#include "ramet/sample_options.h"
#include "sampling/trees.h"

using namespace ramet;

namespace {

uint64_t digest_of(void (*change)(SampleOptions&)) {
  SampleOptions options{{{5, 3}}, Uniform{}, 7};
  change(options);
  return digest(options);
}

}  // namespace

TEST_CASE("digests tell options apart, and those of defaults are what they were") {
  const std::set<uint64_t> digests = {
      digest_of([](SampleOptions&) {}),
      digest_of([](SampleOptions& o) { o.expand = Expand::kOnce; }),
      digest_of([](SampleOptions& o) { o.disjoint = true; }),
      digest_of([](SampleOptions& o) { o.time = Time{.table = "t"}; }),
      digest_of([](SampleOptions& o) { o.time = Time{.table = "u"}; }),
      digest_of([](SampleOptions& o) { o.time = Time{.table = "t", .strategy = Strategy::kLast}; }),
      digest_of([](SampleOptions& o) { o.time = Time{.table = "t", .window = 5}; }),
      digest_of(
          [](SampleOptions& o) { o.time = Time{.table = "t", .comparison = Comparison::kBefore}; }),
      digest_of([](SampleOptions& o) { o.time = Time{.table = "t", .monotonic = true}; }),
      digest_of([](SampleOptions& o) { o.method = Labor{}; }),
      digest_of([](SampleOptions& o) { o.method = Labor{.table = "w"}; })};
  CHECK(digests.size() == 11);
  CHECK(digests.count(0x8a4ba3583d6f908U) == 1);
}

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
