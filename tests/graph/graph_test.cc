#include "ramet/graph.h"

#include <doctest/doctest.h>

#include <vector>

#include "ramet/error.h"
#include "support/graph_fixture.h"
#include "support/temp_dir.h"

using namespace ramet;
using namespace ramet::test;

namespace {

const std::vector<int64_t> kIndptr{0, 2, 2, 3};
const std::vector<int32_t> kIndices{1, 2, 0};
const std::vector<int64_t> kSplit{0, 2};

// Three nodes and three edges, with `name` replaced by `array`.
StoreContents contents_with(const std::string& name = "", const Array& array = {}) {
  StoreContents contents;
  contents.node_counts["node"] = 3;
  contents.arrays = {{"edge/node__to__node/indptr", borrow(kIndptr)},
                     {"edge/node__to__node/indices", borrow(kIndices)},
                     {"split/train/node", borrow(kSplit)}};
  for (auto& [existing, value] : contents.arrays) {
    if (existing != name) continue;
    value = array;
    return contents;
  }
  if (!name.empty()) contents.arrays.emplace_back(name, array);
  return contents;
}

}  // namespace

TEST_CASE("types, tables and splits come from the names of arrays") {
  const std::vector<int64_t> labels{5, 6, 7};
  const auto graph = graph_of(contents_with("node/node/label", borrow(labels)));
  CHECK(graph->node_types().front().name == "node");
  CHECK(graph->node_types().front().tables.count("label") == 1);
  CHECK(graph->edge_types().front().num_edges() == 3);
  CHECK(graph->splits().at("train").at("node").rows() == 2);
  CHECK_THROWS_WITH_AS(graph->node_type("paper"), "no node type 'paper'; there is 'node'", Error);
  CHECK_THROWS_AS(graph->edge_type({"a", "b", "c"}), Error);
  validate(*graph);
}

TEST_CASE("names of edge types decode to what was encoded") {
  const EdgeTypeName name{"a__b", "is/of", "_c"};
  const EdgeTypeName back = EdgeTypeName::decode(name.encoded());
  CHECK(back.src == name.src);
  CHECK(back.relation == name.relation);
  CHECK(back.dst == name.dst);
}

// docs/format.md, section 4, first row.
TEST_CASE("from_store refuses shapes that contradict each other") {
  const std::vector<int64_t> short_indptr{0, 3}, late{1, 2, 2, 3}, wrong_end{0, 2, 2, 2}, two{1, 2};
  const auto refuse = [](const std::string& name, const Array& array) {
    CHECK_THROWS_AS(graph_of(contents_with(name, array)), Error);
  };
  refuse("edge/node__to__node/indptr", borrow(short_indptr));
  refuse("edge/node__to__node/indptr", borrow(late));
  refuse("edge/node__to__node/indptr", borrow(wrong_end));
  refuse("edge/node__to__node/indptr", borrow(kIndices));
  refuse("edge/node__to__node/edge_ids", borrow(two));
  refuse("edge/node__to__node/weight", borrow(two));
  refuse("edge/node__to__paper/indptr", borrow(kIndptr));
  refuse("edge/node__to/indptr", borrow(kIndptr));
  refuse("node/node/label", borrow(two));
  refuse("node/paper/label", borrow(kSplit));
  refuse("split/train/paper", borrow(kSplit));
}

// docs/format.md, section 4, last row.
TEST_CASE("validate reads every entry") {
  const std::vector<int64_t> decreasing{0, 3, 2, 3}, beyond{0, 3}, twice{4, 4, 5};
  const std::vector<int32_t> negative{1, -1, 0};
  const auto check = [](const std::string& name, const Array& array, const std::string& message) {
    CHECK_THROWS_WITH_AS(validate(*graph_of(contents_with(name, array))), message.c_str(), Error);
  };
  check("edge/node__to__node/indptr", borrow(decreasing),
        "segment:edge/node__to__node/indptr, entry 2: 2 is less than the 3 before it");
  check("edge/node__to__node/indices", borrow(negative),
        "segment:edge/node__to__node/indices, entry 1: -1 is outside [0, 3)");
  check("split/train/node", borrow(beyond),
        "segment:split/train/node, entry 1: 3 is outside [0, 3)");
  check("edge/node__to__node/edge_ids", borrow(twice),
        "segment:edge/node__to__node/edge_ids, entry 0: 4 is the id of more than one edge");
}

// docs/format.md, section 4.
TEST_CASE("find_faults gives every fault of every array, and counts those beyond 20") {
  const std::vector<int64_t> indptr{0, 3, 2, 3}, ids{4, 4, 4, 9, 9};
  const std::vector<int64_t> beyond{0, 3, -1};
  StoreContents contents = contents_with("edge/node__to__node/indptr", borrow(indptr));
  contents.arrays[2].second = borrow(beyond);
  CHECK(find_faults(*graph_of(contents)) ==
        std::vector<std::string>{
            "segment:edge/node__to__node/indptr, entry 2: 2 is less than the 3 before it",
            "segment:split/train/node, entry 1: 3 is outside [0, 3)",
            "segment:split/train/node, entry 2: -1 is outside [0, 3)"});

  const std::vector<int64_t> five{0, 2, 2, 5};
  const std::vector<int32_t> sources{0, 1, 2, 0, 1};
  contents.arrays = {{"edge/node__to__node/indptr", borrow(five)},
                     {"edge/node__to__node/indices", borrow(sources)},
                     {"edge/node__to__node/edge_ids", borrow(ids)}};
  CHECK(find_faults(*graph_of(contents)) ==
        std::vector<std::string>{
            "segment:edge/node__to__node/edge_ids, entry 0: 4 is the id of more than one edge",
            "segment:edge/node__to__node/edge_ids, entry 3: 9 is the id of more than one edge"});

  std::vector<int32_t> split(3 << 20, 1);  // several pieces
  for (size_t i = 5; i < split.size(); i += 1 << 17)
    split[i] = 3;
  contents = contents_with("split/val/node", borrow(split));
  const auto faults = find_faults(*graph_of(contents), 1);
  REQUIRE(faults.size() == 21);
  CHECK(faults[0] == "segment:split/val/node, entry 5: 3 is outside [0, 3)");
  CHECK(faults[19] == "segment:split/val/node, entry 2490373: 3 is outside [0, 3)");
  CHECK(faults[20] == "segment:split/val/node: and 4 more");
  CHECK(find_faults(*graph_of(contents), 4) == faults);
}

// docs/format.md, section 1.
TEST_CASE("what a store says of its edges") {
  const std::vector<int64_t> ids{2, 0};
  const std::vector<int32_t> in_order{0, 1, 2};
  StoreContents contents = contents_with("split/train/node__to__node", borrow(ids));
  contents.reverses["node__to__node"] = {"node__to__node", 2};
  contents.arrays.emplace_back("out/node__to__node/indptr", borrow(kIndptr));
  contents.arrays.emplace_back("out/node__to__node/indices", borrow(kIndices));
  contents.arrays.emplace_back("out/node__to__node/edge_ids", borrow(in_order));
  const auto graph = graph_of(contents);
  const EdgeType& edges = graph->edge_types().front();
  CHECK(edges.reverse == 0);
  CHECK(edges.num_input_edges == 2);
  CHECK(graph->edge_splits().at("train").at("node__to__node").rows() == 2);
  CHECK(graph->splits().at("train").size() == 1);
  CHECK(graph->out_edges().at("node__to__node")->edge_types().front().num_edges() == 3);
  CHECK_THROWS_WITH_AS(validate(*graph),
                       "segment:split/train/node__to__node, entry 0: 2 is outside [0, 2)", Error);
  contents.reverses.clear();
  validate(*graph_of(contents));
  contents.arrays.pop_back();
  CHECK_THROWS_AS(graph_of(contents), Error);
  contents.reverses["node__to__node"] = {"node__from__node"};
  CHECK_THROWS_AS(make_segment(contents), Error);
}

TEST_CASE("the fingerprint is that of the graph, not of where it lies") {
  const test::TempDir dir;
  write_store(dir.path() + "/store", contents_with());
  const auto on_disk = Graph::from_store(Store::open(dir.path() + "/store"));
  CHECK(on_disk->fingerprint() == graph_of(contents_with())->fingerprint());
  const std::vector<int32_t> other{1, 2, 1};
  CHECK(on_disk->fingerprint() !=
        graph_of(contents_with("edge/node__to__node/indices", borrow(other)))->fingerprint());
}
