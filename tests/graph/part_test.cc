#include "ramet/part.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ramet/error.h"
#include "ramet/loader.h"
#include "ramet/random.h"
#include "ramet/sampler.h"
#include "support/damage.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/part_fixture.h"
#include "support/streams.h"
#include "support/temp_dir.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kParts = 3;

std::vector<uint8_t> owners_of(int64_t num_nodes) {
  std::vector<uint8_t> owners;
  for (int64_t v = 0; v < num_nodes; ++v)
    owners.push_back(static_cast<uint8_t>(mix64(uint64_t(v)) % kParts));
  return owners;
}

std::vector<int64_t> nodes_of(const Graph& part) {
  return numbers(part.node_types()[0].rows.nodes());
}

Minibatch sample(const std::shared_ptr<const Graph>& graph,
                 const std::vector<int64_t>& seeds,
                 const Method& method) {
  const SampleOptions options{{{4}}, method, 9};
  return NeighborSampler(graph, options).sample({0, seeds}, 0, 0);
}

void refuse(const StoreContents& contents, const char* message) {
  CHECK_THROWS_WITH_AS(graph_of(contents), doctest::Contains(message), Error);
}

}  // namespace

TEST_CASE("parts hold the rows of their nodes, ids and order of edges unchanged") {
  const auto graph = make_graph(2000, 20'000, 7);
  const EdgeType& whole = graph->edge_types()[0];
  const auto indptr = whole.indptr.as<int64_t>();
  const auto indices = numbers(whole.indices), ids = numbers(whole.edge_ids);
  int64_t num_edges = 0;
  for (int64_t k = 0; k < kParts; ++k) {
    const auto part = part_of(*graph, owner_vector(owners_of(2000)), k, kParts);
    validate(*part);
    const EdgeType& edges = part->edge_types()[0];
    num_edges += edges.num_edges();
    const auto nodes = nodes_of(*part);
    const auto offsets = edges.indptr.as<int64_t>();
    const auto sources = numbers(edges.indices), edge_ids = numbers(edges.edge_ids);
    for (size_t row = 0; row < nodes.size(); ++row) {
      const auto v = static_cast<size_t>(nodes[row]);
      REQUIRE(offsets[row + 1] - offsets[row] == indptr[v + 1] - indptr[v]);
      for (int64_t e = 0; e < indptr[v + 1] - indptr[v]; ++e) {
        const auto there = static_cast<size_t>(indptr[v] + e), here = size_t(offsets[row] + e);
        REQUIRE(sources[here] == indices[there]);
        REQUIRE(edge_ids[here] == ids[there]);
      }
    }
    CHECK(part->part()->whole_fingerprint == graph->fingerprint());
    CHECK(part->fingerprint() != graph->fingerprint());
  }
  CHECK(num_edges == whole.num_edges());
}

TEST_CASE("a part samples its nodes as the whole graph does") {
  const auto graph = make_graph(3000, 40'000, 7);
  const auto part = part_of(*graph, owner_vector(owners_of(3000)), 1, kParts);
  const auto seeds = nodes_of(*part);
  for (const Method& method : {Method(Uniform{}), Method(Labor{}), Method(Labor{2})}) {
    const Minibatch here = sample(part, seeds, method);
    const Minibatch there = sample(graph, seeds, method);
    CHECK(numbers(here.n_id[0]) == numbers(there.n_id[0]));
    CHECK(numbers(edge_ids(*part, here.blocks[0].relations[0])) ==
          numbers(edge_ids(*graph, there.blocks[0].relations[0])));
  }
  const std::vector<int64_t> foreign{seeds[0], 0};
  REQUIRE(part->node_types()[0].rows.row(0) == -1);
  CHECK_THROWS_WITH_AS(sample(part, foreign, Uniform{}),
                       doctest::Contains("node 0 of type 'node' belongs to part"), Error);
}

TEST_CASE("a loader over a part gathers the rows of the part's nodes") {
  EdgeList loops;  // in-neighbors of the same part
  for (int64_t v = 0; v < 2000; ++v) {
    loops.src.push_back(v);
    loops.dst.push_back(v);
  }
  const auto graph = make_graph(loops, 2000);
  const auto part = part_of(*graph, owner_vector(owners_of(2000)), 2, kParts);
  const auto seeds = nodes_of(*part);
  LoaderOptions options;
  options.sample.fanouts = {{-1}};
  options.inputs.front().ids = borrow(seeds);
  options.batch_size = static_cast<int64_t>(seeds.size());
  options.tables = {{0, "feat", false}};
  const auto batch = NeighborLoader(part, options).start(0)->next(kPatience);
  const auto feat = batch->tables[0].as<float>();
  for (size_t i = 0; i < seeds.size(); ++i)
    REQUIRE(feat[2 * i] == static_cast<float>(seeds[i]));
}

TEST_CASE("what is no part of a graph is refused when it is opened") {
  const auto graph = make_graph(1000, 3000, 5);
  const Array owner = owner_vector(owners_of(1000));
  const auto without = [&](const std::string& name) {
    StoreContents contents = part_contents(*graph, owner, 0, kParts);
    std::erase_if(contents.arrays, [&](const auto& array) { return array.first == name; });
    return contents;
  };
  refuse(without("owner/node"), "segment:owner/node: is missing");
  refuse(without("owned/node"), "segment:owned/node: is missing");
  refuse(without("edge/node__to__node/edge_ids"), "edge_ids: is missing");

  StoreContents contents = part_contents(*graph, owner, 0, kParts);
  contents.part.reset();
  refuse(contents, "is of a part, but ramet.txt has no line of one");
  contents = part_contents(*graph, owner, 0, kParts);
  contents.part->index = kParts;
  refuse(contents, "part 3 is outside [0, 3)");
  contents = part_contents(*graph, owner, 0, kParts);
  contents.arrays.emplace_back("owner/paper", owner);
  refuse(contents, "owner/paper: is of a node type");
  contents = part_contents(*graph, owner, 0, kParts);
  contents.node_counts["node"] = 1001;
  refuse(contents, "holds uint8[1000], expected uint8[1001]");
  const std::vector<int64_t> falls{0, 700, 600, 1000}, early{0, 1, 2, 999}, few{0, 1000};
  for (const auto& [bounds, message] :
       {std::pair{&falls, "entry 2: 600 is less than the 700 before it"},
        {&early, "entry 3: 999 is not the number of nodes, 1000"},
        {&few, "holds int64[2], expected int64[4]"}}) {
    contents = part_contents(*graph, owner, 0, kParts);
    contents.arrays[0].second = borrow(std::span<const int64_t>(*bounds));
    refuse(contents, message);
  }
  const std::vector<int64_t> bounds{0, 1, 2, 1000};
  contents = part_contents(*graph, owner, 0, kParts);
  contents.arrays[0].second = borrow(bounds);
  refuse(contents, "owned/node: is there, but the part owns a range of nodes");
}

TEST_CASE("validate compares the bitmap with the owners") {
  const auto graph = make_graph(1000, 3000, 5);
  auto owners = owners_of(1000);
  StoreContents contents = part_contents(*graph, owner_vector(owners), 0, kParts);
  owners[500] = static_cast<uint8_t>((owners[500] + 1) % kParts);
  owners[501] = 0, owners[502] = 0, owners[503] = 1;
  contents.arrays[0].second = owner_vector(owners);
  CHECK_THROWS_WITH_AS(validate(*graph_of(contents)),
                       doctest::Contains("owned/node, line 1, word 1"), Error);
  owners[500] = kParts;
  contents.arrays[0].second = owner_vector(owners);
  CHECK_THROWS_WITH_AS(validate(*graph_of(contents)),
                       "segment:owner/node, entry 500: 3 is outside [0, 3)", Error);
}

TEST_CASE("a part in a folder is the part in memory") {
  const TempDir dir;
  const auto graph = make_graph(1000, 3000, 5);
  const auto contents = part_contents(*graph, owner_vector(owners_of(1000)), 0, kParts);
  write_store(dir / "part", contents);
  const auto store = Store::open(dir / "part");
  const auto in_folder = Graph::from_store(store);
  validate(*in_folder);
  CHECK(in_folder->part()->count == kParts);
  CHECK(in_folder->fingerprint() == graph_of(contents)->fingerprint());
  CHECK(in_folder->part()->whole_fingerprint == graph->fingerprint());
}

TEST_CASE("the line of ramet.txt that says which part") {
  const TempDir dir;
  const auto graph = make_graph(10, 30, 5);
  write_store(dir / "part", part_contents(*graph, owner_vector(owners_of(10)), 1, kParts));
  const std::string manifest = dir / "part/ramet.txt";
  for (const auto& [line, message] :
       {std::pair{"part 3 of 3 0123456789abcdef", "part '3' is outside [0, 3)"},
        {"part 0 of 0 0123456789abcdef", "number of parts '0'"},
        {"part 0 of 65536 0123456789abcdef", "number of parts '65536'"},
        {"part 0 of 3 0123456789abcde", "16 hexadecimal digits"},
        {"part 0 of 3 0123456789ABCDEF", "16 hexadecimal digits"},
        {"part 0 off 3 0123456789abcdef", "unknown line"},
        {"part 0 of 3 0123456789abcdef\npart 0 of 3 0123456789abcdef", "a second line"}}) {
    write_file(manifest, "ramet-store 1\nnode node 10\n" + std::string(line) + "\n");
    CHECK_THROWS_WITH_AS(Store::open(dir / "part"), doctest::Contains(message), Error);
  }
}

TEST_CASE("cut edges are those between owners") {
  const auto graph = make_graph(3000, 40'000, 7);
  const EdgeType& edges = graph->edge_types()[0];
  const auto indptr = edges.indptr.as<int64_t>();
  const auto sources = numbers(edges.indices);
  const auto owners = owners_of(3000);
  int64_t slow = 0;
  for (size_t v = 0; v < 3000; ++v) {
    for (auto e = static_cast<size_t>(indptr[v]); e < static_cast<size_t>(indptr[v + 1]); ++e)
      slow += owners[static_cast<size_t>(sources[e])] != owners[v];
  }
  const auto ownership = Ownership::by_vector(owner_vector(owners), kParts);
  for (const int threads : {1, 2, 8})
    CHECK(count_cut(edges, ownership, ownership, threads) == slow);
  const auto few = Ownership::by_vector(owner_vector(owners_of(2999)), kParts);
  CHECK_THROWS_AS(count_cut(edges, few, ownership), Error);
  CHECK_THROWS_AS(count_cut(edges, ownership, few), Error);
}

TEST_CASE("in-edges of what is no node, and of rows that cannot be") {
  const auto graph = make_graph(1000, 3000, 5);
  EdgeType edges = graph->edge_types()[0];
  for (const int64_t node : {int64_t{-1}, int64_t{1000}})
    CHECK_THROWS_AS(in_edges(edges, std::vector<int64_t>{3, node}), Error);
  std::vector<int64_t> offsets(edges.indptr.as<int64_t>().begin(),
                               edges.indptr.as<int64_t>().end());
  offsets[500] = 1 << 30;
  edges.indptr = borrow(offsets);
  for (const int64_t node : {499, 500})
    CHECK_THROWS_AS(in_edges(edges, std::vector<int64_t>{node}), Error);
  CHECK(in_edges(edges, std::vector<int64_t>{}).indices.rows() == 0);
}

// Whatever stands in the files, rows stay within the part's, or there is an error.
TEST_CASE("random damage to the files of a part") {
  const TempDir dir;
  const auto graph = make_graph(1000, 3000, 5);
  write_store(dir / "part", part_contents(*graph, owner_vector(owners_of(1000)), 1, kParts));
  const auto read_rows = [&] {
    const auto part = Graph::from_store(Store::open(dir / "part"));
    const NodeRows& rows = part->node_types()[0].rows;
    const int64_t num_nodes = std::min<int64_t>(part->node_types()[0].num_nodes, 1000);
    for (int64_t v = 0; v < num_nodes; ++v)
      REQUIRE(rows.row(v) < rows.num_rows());
    REQUIRE(rows.nodes().rows() == rows.num_rows());
    validate(*part);
  };
  read_rows();
  Random random(7);
  int found = 0;
  for (const std::string file : {"ramet.txt", "owner/node.npy", "owned/node.npy"}) {
    const std::string whole = read_file(dir / ("part/" + file));
    for (int i = 0; i < 200; ++i) {
      write_file(dir / ("part/" + file), damage(whole, random));
      try {
        read_rows();
      } catch (const Error& error) {
        CHECK(std::string(error.what()).size() < 1000);
        ++found;
      }
    }
    write_file(dir / ("part/" + file), whole);
  }
  CHECK(found > 400);
  read_rows();
}
