// Tables of bfloat16 and of int8 with a scale: written and read again, in folders and segments, and
// what is wrong with them named. docs/format.md, sections 1 and 2.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "base/scale.h"
#include "ramet/graph.h"
#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "support/damage.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

namespace fs = std::filesystem;

const char* const kScale = "node/paper/feat.scale.npy";

void add_scale(OwnedContents& graph, const std::string& name, std::vector<int64_t> shape) {
  graph.add(name, DType::kFloat32, std::move(shape));
  Array& scale = graph.contents.arrays.back().second;
  for (int64_t i = 0; i < scale.bytes() / 4; ++i)
    static_cast<float*>(scale.data)[i] = 0.25F * static_cast<float>(i + 1);
}

// Four papers and five edges with a table of each of these dtypes, and plain int8 labels.
OwnedContents encoded_graph() {
  OwnedContents graph;
  graph.contents.node_counts = {{"paper", 4}};
  graph.add("node/paper/feat", DType::kInt8, {4, 3});
  add_scale(graph, "node/paper/feat.scale", {4, 1});
  graph.add("node/paper/brain", DType::kBFloat16, {4, 2});
  graph.add("node/paper/label", DType::kInt8, {4});
  graph.add("edge/paper__cites__paper/indptr", {0, 1, 2, 3, 5});
  graph.add("edge/paper__cites__paper/indices", {1, 0, 3, 2, 1});
  graph.add("edge/paper__cites__paper/weight", DType::kInt8, {5, 2});
  add_scale(graph, "edge/paper__cites__paper/weight.scale", {1, 2});
  return graph;
}

void check_graph(const std::shared_ptr<const Store>& store) {
  const auto graph = Graph::from_store(store);
  const NodeType& papers = graph->node_types().front();
  CHECK(papers.tables.size() == 3);
  CHECK(papers.tables.at("brain").dtype == DType::kBFloat16);
  CHECK(papers.scales.size() == 1);
  CHECK(papers.scales.at("feat").describe() == "float32[4, 1]");
  CHECK(graph->edge_types().front().tables.size() == 1);
  CHECK(graph->edge_types().front().scales.at("weight").describe() == "float32[1, 2]");
  validate(*graph);
}

// ramet.txt without its last line, the id.
std::string manifest_of(const std::string& store) {
  const std::string text = read_file(store + "/ramet.txt");
  return text.substr(0, text.rfind("id "));
}

TEST_CASE("folders and segments keep element types and scales, copy-on-write too") {
  const TempDir dir;
  const OwnedContents graph = encoded_graph();
  write_store(dir / "store", graph.contents);
  CHECK(manifest_of(dir / "store") ==
        "ramet-store 1\nnode paper 4\ntable edge/paper__cites__paper/weight int8\n"
        "table node/paper/brain bfloat16\ntable node/paper/feat int8\n");
  CHECK(read_file(dir / "store/node/paper/brain.npy").find("'<u2'") != std::string::npos);
  for (const auto& store : {Store::open(dir / "store"), make_segment(graph.contents)}) {
    check_equal(*store, graph.contents);
    check_graph(store);
    CHECK(store->copy_on_write("node/paper/brain").dtype == DType::kBFloat16);
  }
}

TEST_CASE("a store without such lines is what it was: int8 is int8, and a name may end in .scale") {
  const TempDir dir;
  OwnedContents plain = small_graph();
  plain.add("node/paper/label", DType::kInt8, {4});
  write_store(dir / "store", plain.contents);
  CHECK(manifest_of(dir / "store") == "ramet-store 1\nnode paper 4\n");
  fs::copy_file(dir / "store/node/paper/feat.npy", dir / "store/node/paper/label.scale.npy");
  const auto graph = Graph::from_store(Store::open(dir / "store"));
  CHECK(graph->node_types().front().tables.count("label.scale") == 1);
  CHECK(graph->node_types().front().scales.empty());
}

TEST_CASE("a writer refuses scales of nothing, and scales that do not fit") {
  const auto refuse = [](const std::string& name, DType dtype, std::vector<int64_t> shape,
                         const std::vector<std::string>& words) {
    OwnedContents graph = small_graph();
    graph.add("node/paper/small", DType::kInt8, {4, 2});
    graph.add(name, dtype, std::move(shape));
    const TempDir dir;
    check_throws(ErrorCode::kInvalidArgument, words,
                 [&] { write_store(dir / "store", graph.contents); });
    CHECK(fs::is_empty(dir.path()));
    check_throws(ErrorCode::kInvalidArgument, words, [&] { return make_segment(graph.contents); });
  };
  const std::string scale = "node/paper/small.scale";
  refuse("node/paper/x.scale", DType::kFloat32, {4, 1}, {"'node/paper/x.scale'", "no table"});
  refuse("node/paper/feat.scale", DType::kFloat32, {4, 1}, {"float32[4, 3]", "int8"});
  refuse(scale, DType::kFloat64, {4, 1}, {"float64[4, 1]", "float32"});
  refuse(scale, DType::kFloat32, {4}, {"float32[4]", "float32[4, 1]", "float32[1, 2]"});
  refuse(scale, DType::kFloat32, {2, 1}, {"float32[2, 1]", "one per row"});
}

struct EncodedStore {
  EncodedStore() { write_store(path, encoded_graph().contents); }

  void check_refused(const std::vector<std::string>& words) const {
    check_throws(ErrorCode::kCorrupt, words, [&] { return Store::open(path); });
  }
  void replace(const std::string& name, DType dtype, std::vector<int64_t> shape) const {
    OwnedContents other;
    other.contents.node_counts = {{"a", 4}};
    other.add("node/a/b", dtype, std::move(shape));
    write_store(dir / "other", other.contents);
    write_file(path + "/" + name, read_file(dir / "other/node/a/b.npy"));
  }

  TempDir dir;
  std::string path = dir / "store";
};

TEST_CASE("a table that is not what ramet.txt says, and a scale that is missing or does not fit") {
  const EncodedStore store;
  const std::string scale = store.path + "/" + kScale;
  const std::string good = read_file(scale);
  fs::remove(scale);
  store.check_refused({scale, "missing", "int8 with a scale"});
  store.replace(kScale, DType::kFloat32, {3, 1});
  store.check_refused({scale, "float32[3, 1]", "float32[4, 1]", "float32[1, 3]"});
  store.replace(kScale, DType::kInt32, {4, 1});
  store.check_refused({scale, "int32[4, 1]", "not float32"});
  write_file(scale, good);
  store.replace("node/paper/feat.npy", DType::kUInt8, {4, 3});
  store.check_refused({"feat.npy", "uint8[4, 3]", "int8"});
  store.replace("node/paper/feat.npy", DType::kInt8, {4, 3});
  store.replace("node/paper/brain.npy", DType::kFloat16, {4, 2});
  store.check_refused({"brain.npy", "float16[4, 2]", "bfloat16", "uint16"});
  fs::remove(store.path + "/node/paper/brain.npy");
  store.check_refused({"brain.npy", "missing", "bfloat16"});
}

TEST_CASE("lines of ramet.txt about tables") {
  const EncodedStore store;
  const std::string manifest = read_file(store.path + "/ramet.txt");
  const auto with = [&](const std::string& line, const std::vector<std::string>& words) {
    write_file(store.path + "/ramet.txt", manifest + line + "\n");
    CAPTURE(line);
    store.check_refused(words);
  };
  with("table node/paper/label float16", {"line 7", "'float16'", "'bfloat16' and 'int8'"});
  with("table node/paper/label", {"unknown line"});
  with("table node/paper/label int8 x", {"unknown line"});
  with("table node/paper/feat bfloat16", {"line 7", "'node/paper/feat'", "twice"});
  with("table node/paper/feat int8", {"twice"});
  with("table node/paper/none int8", {"node/paper/none", "missing"});
  with("table node/paper/none bfloat16", {"node/paper/none", "missing"});
  with("table split/train/paper int8", {"is a split"});
  with("table node/paper int8", {"three parts"});
  with("table node/paper/../x int8", {"three parts"});
  with("table edge/paper__cites__paper/indices int8", {"indices.npy", "int64[5]", "int8"});
  with("table node/paper/label int8", {"label.scale.npy", "missing"});
  with("table node/paper/feat.scale int8", {"feat.scale.npy", "float32[4, 1]", "int8"});
}

TEST_CASE("verify finds a scale that is not finite, or negative") {
  const EncodedStore store;
  const std::string good = read_file(store.path + "/" + kScale);
  for (const float bad :
       {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::string bytes = good;
    std::memcpy(&bytes[bytes.size() - 8], &bad, 4);
    write_file(store.path + "/" + kScale, bytes);
    const auto graph = Graph::from_store(Store::open(store.path));
    check_throws(ErrorCode::kCorrupt, {kScale, "entry 2", "finite and not negative"},
                 [&] { validate(*graph); });
  }
}

TEST_CASE("hundreds of damaged folders") {
  const EncodedStore store;
  CHECK(count_found(store.path, 300, 11, [&] {
          auto opened = Store::open(store.path);
          static_cast<void>(Graph::from_store(opened));
          return opened;
        }) > 150);
  check_graph(Store::open(store.path));
}

}  // namespace
}  // namespace ramet::test
