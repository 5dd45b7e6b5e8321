#include "ramet/ownership.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "ramet/error.h"
#include "support/graph_fixture.h"
#include "support/part_fixture.h"
#include "support/store_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

std::vector<int64_t> all_nodes(int64_t count) {
  std::vector<int64_t> nodes(static_cast<size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

}  // namespace

TEST_CASE("ranges own what lies between their bounds, empty ranges and one included") {
  std::vector<int64_t> many{0};  // more than are compared one after the other
  for (int64_t part = 0; part < 40; ++part)
    many.push_back(many.back() + part % 5 * 60);
  for (const std::vector<int64_t>& bounds : {std::vector<int64_t>{0, 10},
                                             {0, 0, 4, 4, 4, 9, 10},
                                             {0, 3, 10, 10},
                                             {0, 0, 0},
                                             {0, 5, 10},
                                             many}) {
    CAPTURE(bounds);
    const Ownership ownership = Ownership::ranges(borrow(bounds));
    CHECK(ownership.parts() == static_cast<int64_t>(bounds.size()) - 1);
    CHECK(ownership.num_nodes() == bounds.back());
    const auto nodes = all_nodes(bounds.back());
    const auto owners = ownership.owners(nodes);
    for (size_t v = 0; v < nodes.size(); ++v) {
      const auto node = static_cast<int64_t>(v);
      CHECK(bounds[owners[v]] <= node);
      CHECK(node < bounds[owners[v] + 1U]);
      CHECK(ownership.owner(node) == owners[v]);
    }
    for (int64_t part = 0; part < ownership.parts(); ++part) {
      CHECK(ownership.span_of(part).begin == bounds[static_cast<size_t>(part)]);
      CHECK(ownership.span_of(part).end == bounds[static_cast<size_t>(part) + 1]);
    }
  }
}

TEST_CASE("a vector says who owns, whatever its width, and hashes spread evenly") {
  const std::vector<uint8_t> narrow{2, 0, 1, 1};
  const std::vector<uint16_t> wide{2, 0, 1, 1};
  const auto one = Ownership::by_vector(owner_vector(narrow), 3);
  const auto other = Ownership::by_vector(owner_vector(wide), 3);
  CHECK(one.owners(all_nodes(4)) == wide);
  CHECK(other.owners(all_nodes(4)) == wide);
  CHECK(one.digest() == other.digest());
  CHECK(one.span_of(1).begin == 0);
  CHECK(one.span_of(1).end == 4);
  CHECK(one.digest() != Ownership::by_vector(owner_vector(narrow), 4).digest());

  const auto hashed = Ownership::hashed("paper", 70'000, 7);
  std::vector<int64_t> counts(7);
  for (const uint16_t owner : hashed.owners(all_nodes(70'000)))
    ++counts.at(owner);
  for (const int64_t count : counts)
    CHECK(std::abs(count - 10'000) < 500);
  CHECK(hashed.digest() != Ownership::hashed("author", 70'000, 7).digest());
}

TEST_CASE("ownership that covers no graph is refused") {
  const auto ranges = [](std::vector<int64_t> bounds) { return Ownership::ranges(borrow(bounds)); };
  CHECK_THROWS_AS(ranges({0}), Error);
  CHECK_THROWS_AS(ranges({1, 4}), Error);
  CHECK_THROWS_AS(ranges({0, 5, 4}), Error);
  const std::vector<int64_t> ids{0, 1};
  CHECK_THROWS_AS(Ownership::by_vector(borrow(ids), 2), Error);
  const std::vector<uint8_t> owners{0, 3};
  const auto beyond = Ownership::by_vector(owner_vector(owners), 3, "owner.npy");
  CHECK(beyond.owner(0) == 0);
  CHECK_THROWS_WITH(beyond.owner(1), "owner.npy, entry 1: 3 is outside [0, 3)");
  CHECK_THROWS_AS(beyond.owners(std::vector<int64_t>{2}), Error);
  CHECK_THROWS_AS(Ownership::by_vector(owner_vector(owners), 0), Error);
  CHECK_THROWS_AS(Ownership::by_vector(owner_vector(owners), 70'000), Error);
}

TEST_CASE("balanced ranges have about equally many in-edges and nodes") {
  EdgeList edges = random_edges(5000, 5000, 40'000, 3);
  for (int64_t e = 0; e < 20'000; ++e) {  // a third of the edges point to the first nodes
    edges.src.push_back(e % 5000);
    edges.dst.push_back(e % 50);
  }
  const auto graph = make_graph(edges, 5000);
  const auto indptr = graph->edge_types()[0].indptr.as<int64_t>();
  for (const int64_t parts : {1, 2, 7}) {
    const auto bounds = balanced_ranges(*graph, 0, parts);
    REQUIRE(Ownership::ranges(borrow(bounds)).num_nodes() == 5000);
    for (size_t k = 0; k + 1 < bounds.size(); ++k) {
      const auto num_edges = static_cast<double>(indptr[static_cast<size_t>(bounds[k + 1])] -
                                                 indptr[static_cast<size_t>(bounds[k])]);
      const auto num_nodes = static_cast<double>(bounds[k + 1] - bounds[k]);
      const double share = (num_edges / 60'000 + num_nodes / 5000) / 2;
      CHECK(share == doctest::Approx(1.0 / static_cast<double>(parts)).epsilon(0.05));
    }
  }
  CHECK(balanced_ranges(*make_graph({}, 2), 0, 5).size() == 6);
}

TEST_CASE("a node, part or type that is none is an Error") {
  const auto graph = make_graph(100, 300, 3);
  const std::vector<int64_t> bounds{0, 40, 100};
  for (const Ownership& owners : {Ownership::ranges(borrow(bounds)),
                                  Ownership::hashed(graph->node_types()[0].name, 100, 2)}) {
    for (const int64_t node : {-1, 100}) {
      check_throws(ErrorCode::kOutOfRange, {"node is " + std::to_string(node), "[0, 100)"},
                   [&] { return owners.owner(node); });
    }
    for (const int64_t part : {-1, 2}) {
      check_throws(ErrorCode::kOutOfRange, {"part is " + std::to_string(part), "[0, 2)"},
                   [&] { return owners.span_of(part); });
      check_throws(ErrorCode::kOutOfRange, {"part is " + std::to_string(part), "[0, 2)"},
                   [&] { return owned_nodes(owners, part); });
    }
  }
  for (const int type : {-1, 1}) {
    check_throws(ErrorCode::kOutOfRange, {std::to_string(type), "[0, 1)"},
                 [&] { return balanced_ranges(*graph, type, 2); });
  }
  const auto part = part_of(*graph, owner_vector(std::vector<uint8_t>(100, 1)), 1, 2);
  check_throws(ErrorCode::kInvalidArgument, {"whole graph"},
               [&] { return balanced_ranges(*part, 0, 2); });
}
