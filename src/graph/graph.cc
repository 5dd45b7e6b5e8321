// A Store's arrays, sorted by their names into types, tables and splits. Shapes are checked against
// each other here; entries are not read, except the first and last of every indptr.
#include "ramet/graph.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/scale.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "read_part.h"
#include "read_reverses.h"

namespace ramet {
namespace {

void require_ids(const Array& array, const std::string& location) {
  if (array.shape.size() != 1 || (array.dtype != DType::kInt32 && array.dtype != DType::kInt64)) {
    throw_corrupt(location, "holds ", array.describe(),
                  ", expected one dimension of int32 or int64");
  }
}

void require_rows(const Array& array, int64_t rows, const std::string& location) {
  if (array.rows() == rows) return;
  throw_corrupt(location, "has ", array.rows(), " rows, expected ", rows);
}

// "node/paper/feat" -> {"paper", "feat"}
std::pair<std::string, std::string> split_name(const std::string& array_name) {
  const size_t first = array_name.find('/');
  const size_t second = array_name.find('/', first + 1);
  return {array_name.substr(first + 1, second - first - 1), array_name.substr(second + 1)};
}

void check_indptr(const EdgeType& edges, int64_t num_rows, const std::string& location) {
  const Array& indptr = edges.indptr;
  if (indptr.shape.size() != 1 || indptr.dtype != DType::kInt64) {
    throw_corrupt(location, "holds ", indptr.describe(), ", expected one dimension of int64");
  }
  require_rows(indptr, num_rows + 1, location);
  const auto offsets = indptr.as<int64_t>();
  if (offsets.front() != 0) {
    throw_corrupt(location, "begins with ", offsets.front(), ", expected 0");
  }
  if (offsets.back() != edges.num_edges()) {
    throw_corrupt(location, "ends with ", offsets.back(), ", but indices has ", edges.num_edges(),
                  " entries");
  }
}

bool is_scale(const Store& store, const std::string& array_name) {
  if (!array_name.ends_with(kScaleSuffix)) return false;
  const size_t length = array_name.size() - std::string_view(kScaleSuffix).size();
  const auto table = store.table_dtypes().find(array_name.substr(0, length));
  return table != store.table_dtypes().end() && table->second == DType::kInt8;
}

// An array is a table of one row per node or edge, and comes with its scale, or is a scale.
void add_table(const Store& store,
               const std::string& array_name,
               int64_t rows,
               std::map<std::string, Array>& tables,
               std::map<std::string, Array>& scales) {
  const Array& array = store.arrays().at(array_name);
  if (is_scale(store, array_name)) return;
  require_rows(array, rows, store.location(array_name));
  const std::string table = decode_name(split_name(array_name).second);
  tables.emplace(table, array);
  const auto dtype = store.table_dtypes().find(array_name);
  if (dtype != store.table_dtypes().end() && dtype->second == DType::kInt8)
    scales.emplace(table, store.arrays().at(array_name + kScaleSuffix));
}

int position_of_type(const std::vector<NodeType>& types,
                     const std::string& name,
                     const std::string& location) {
  for (size_t t = 0; t < types.size(); ++t) {
    if (types[t].name == name) return static_cast<int>(t);
  }
  throw_corrupt(location, "node type '", name, "' is not declared in ramet.txt");
}

void require_edge_type(const std::vector<EdgeType>& types,
                       const std::string& encoded,
                       const std::string& location) {
  const auto is_named = [&encoded](const EdgeType& type) { return type.encoded == encoded; };
  if (std::none_of(types.begin(), types.end(), is_named))
    throw_corrupt(location, "there is no edge type '", encoded, "'");
}

// The arrays of each type, by file name.
using TypeFolders = std::map<std::string, std::map<std::string, Array>>;

// In the folder `kind`: "edge/", "out/" with edges by source, or "ids/".
TypeFolders type_folders(const Store& store, std::string_view kind) {
  TypeFolders folders;
  for (const auto& [name, array] : store.arrays()) {
    if (!name.starts_with(kind)) continue;
    auto [type, file] = split_name(name);
    folders[type].emplace(file, array);
  }
  return folders;
}

void read_ids(const Store& store, std::vector<NodeType>& types) {
  for (const auto& [encoded, files] : type_folders(store, "ids/")) {
    const std::string folder = "ids/" + encoded;
    const std::string location = store.location(folder + "/" + files.begin()->first);
    const int position = position_of_type(types, decode_name(encoded), location);
    NodeType& type = types[static_cast<size_t>(position)];
    type.ids.emplace(store, folder, type.num_nodes);
  }
}

std::vector<NodeType> read_node_types(const Store& store) {
  std::vector<NodeType> types;
  for (const auto& [encoded, count] : store.node_counts()) {
    types.push_back({.name = decode_name(encoded), .num_nodes = count});
  }
  read_part(store, types);
  for (const auto& [name, array] : store.arrays()) {
    if (name.rfind("node/", 0) != 0) continue;
    const std::string type = decode_name(split_name(name).first);
    NodeType& node_type =
        types[static_cast<size_t>(position_of_type(types, type, store.location(name)))];
    add_table(store, name, node_type.num_rows, node_type.tables, node_type.scales);
  }
  read_ids(store, types);
  return types;
}

Array take(std::map<std::string, Array>& files,
           const std::string& file,
           const std::string& location) {
  const auto it = files.find(file);
  if (it == files.end()) throw_corrupt(location, "is missing");
  Array array = it->second;
  files.erase(it);
  return array;
}

EdgeType read_edge_type(const Store& store,
                        const std::vector<NodeType>& node_types,
                        const std::string& folder,
                        const EdgeTypeName& name,
                        std::map<std::string, Array> files) {
  const auto location = [&](const std::string& file) {
    return store.location(folder + "/" + file);
  };
  EdgeType edges;
  edges.name = name;
  edges.encoded = name.encoded();
  edges.name_hash = hash_name(edges.encoded);
  edges.indptr_location = location("indptr");
  edges.indices_location = location("indices");
  edges.src = position_of_type(node_types, edges.name.src, edges.indices_location);
  edges.dst = position_of_type(node_types, edges.name.dst, edges.indptr_location);
  edges.indices = take(files, "indices", edges.indices_location);
  require_ids(edges.indices, location("indices"));
  edges.read_by_row = store.read_by_row().count(folder + "/indices") > 0;
  edges.indptr = take(files, "indptr", edges.indptr_location);
  check_indptr(edges, node_types[static_cast<size_t>(edges.dst)].num_rows, location("indptr"));
  // A position in a part is not that in the whole graph, so that ids are needed.
  if (files.count("edge_ids") > 0 || store.part()) {
    edges.edge_ids = take(files, "edge_ids", location("edge_ids"));
    require_ids(edges.edge_ids, location("edge_ids"));
    require_rows(edges.edge_ids, edges.num_edges(), location("edge_ids"));
  }
  for (const auto& [file, array] : files)
    add_table(store, folder + "/" + file, edges.num_edges(), edges.tables, edges.scales);
  return edges;
}

void check_about(const Store& store) {
  for (const auto& [name, array] : store.arrays())
    if (name.starts_with("about/") &&
        (name != "about/tables" || array.dtype != DType::kUInt8 || array.shape.size() != 1))
      throw_corrupt(store.location(name), "holds ", array.describe(),
                    "; only the bytes of a text can be there, called tables");
}

void read_sorted_rows(const Store& store,
                      const std::vector<NodeType>& node_types,
                      std::vector<EdgeType>& edge_types) {
  for (const auto& [encoded, by] : store.sorted_rows()) {
    const auto fail = [&store, &array = by, &type = encoded](const std::string& why) {
      throw_corrupt(store.location(array), "ramet.txt says that the rows of '", type,
                    "' are sorted by it, but ", why);
    };
    if (store.part()) fail("the store is a part of a graph");
    const auto is_named = [&type = encoded](const EdgeType& e) { return e.encoded == type; };
    const auto edges = std::find_if(edge_types.begin(), edge_types.end(), is_named);
    if (edges == edge_types.end()) fail("there is no such edge type");
    const NodeType& sources = node_types[static_cast<size_t>(edges->src)];
    const std::string source = encode_name(sources.name);
    const bool is_theirs =
        by.starts_with("edge/" + encoded + "/") || by.starts_with("node/" + source + "/");
    const auto table = store.arrays().find(by);
    if (!is_theirs || table == store.arrays().end()) fail("it is no table of theirs");
    const Array& keys = table->second;
    if (keys.dtype != DType::kInt64 || keys.shape.size() != 1)
      fail("it holds " + keys.describe() + ", expected one int64 each");
    const int64_t rows = by.starts_with("edge/") ? edges->num_edges() : sources.num_nodes;
    if (keys.shape[0] != rows) fail(concat("it holds ", keys.describe(), ", not ", rows, " rows"));
    edges->sorted_by = by;
  }
}

template <typename Types>
std::string names_of(const Types& types,
                     const std::string& (*name)(const typename Types::value_type&)) {
  std::string names;
  for (const auto& type : types)
    names += (names.empty() ? "'" : ", '") + name(type) + "'";
  return names.empty() ? "none" : names;
}

}  // namespace

std::shared_ptr<const Graph> Graph::from_store(std::shared_ptr<const Store> store) {
  auto graph = std::make_shared<Graph>();
  graph->node_types_ = read_node_types(*store);
  check_about(*store);
  for (const auto& [encoded, files] : type_folders(*store, "edge/")) {
    graph->edge_types_.push_back(read_edge_type(*store, graph->node_types_, "edge/" + encoded,
                                                EdgeTypeName::decode(encoded), files));
  }
  read_sorted_rows(*store, graph->node_types_, graph->edge_types_);
  read_reverses(*store, graph->edge_types_);
  for (const auto& [name, array] : store->arrays()) {
    if (name.rfind("split/", 0) != 0) continue;
    const auto [split, type] = split_name(name);
    require_ids(array, store->location(name));
    if (type.find("__") != type.npos) {
      require_edge_type(graph->edge_types_, type, store->location(name));
      graph->edge_splits_[decode_name(split)].emplace(type, array);
    } else {
      position_of_type(graph->node_types_, decode_name(type), store->location(name));
      graph->splits_[decode_name(split)].emplace(decode_name(type), array);
    }
  }
  graph->store_ = std::move(store);
  graph->read_out_edges();
  return graph;
}

void Graph::read_out_edges() {
  for (const auto& [encoded, files] : type_folders(*store_, "out/")) {
    const std::string folder = "out/" + encoded;
    require_edge_type(edge_types_, encoded, store_->location(folder + "/indptr"));
    const auto [src, relation, dst] = EdgeTypeName::decode(encoded);
    auto out = std::make_shared<Graph>();
    out->node_types_ = node_types_;
    if (files.count("edge_ids") == 0)
      throw_corrupt(store_->location(folder + "/edge_ids"), "is missing");
    out->edge_types_.push_back(
        read_edge_type(*store_, node_types_, folder, {dst, relation, src}, files));
    const int64_t count =
        edge_types_[static_cast<size_t>(edge_type({src, relation, dst}))].num_edges();
    require_rows(out->edge_types_[0].indices, count, store_->location(folder + "/indices"));
    out->store_ = store_;
    out_edges_.emplace(encoded, std::move(out));
  }
}

int Graph::node_type(const std::string& name) const {
  for (size_t t = 0; t < node_types_.size(); ++t) {
    if (node_types_[t].name == name) return static_cast<int>(t);
  }
  throw_error(
      ErrorCode::kNotFound, "no node type '", name, "'; there is ",
      names_of(node_types_, +[](const NodeType& t) -> const std::string& { return t.name; }));
}

int Graph::edge_type(const EdgeTypeName& name) const {
  const std::string encoded = name.encoded();
  for (size_t t = 0; t < edge_types_.size(); ++t) {
    if (edge_types_[t].encoded == encoded) return static_cast<int>(t);
  }
  throw_error(
      ErrorCode::kNotFound, "no edge type '", encoded, "'; there is ",
      names_of(edge_types_, +[](const EdgeType& t) -> const std::string& { return t.encoded; }));
}

uint64_t Graph::whole_fingerprint() const {
  return part() ? part()->whole_fingerprint : fingerprint();
}

uint64_t Graph::fingerprint() const {
  uint64_t h = static_cast<uint64_t>(Domain::kFingerprint);
  for (const NodeType& type : node_types_) {
    h = absorb(absorb(h, hash_name(type.name)), static_cast<uint64_t>(type.num_nodes));
  }
  for (const EdgeType& edges : edge_types_) {
    h = digest_ids(digest_ids(absorb(h, edges.name_hash), edges.indptr), edges.indices);
  }
  for (const auto& [name, by_type] : splits_) {
    for (const auto& [type, ids] : by_type) {
      h = digest_ids(absorb(absorb(h, hash_name(name)), hash_name(type)), ids);
    }
  }
  for (const auto& [name, by_type] : edge_splits_) {
    for (const auto& [type, ids] : by_type) {
      h = digest_ids(absorb(absorb(h, hash_name(name)), hash_name(type)), ids);
    }
  }
  if (const auto& part = store_->part()) {
    h = absorb(absorb(h, static_cast<uint64_t>(part->index)), static_cast<uint64_t>(part->count));
    h = absorb(h, part->whole_fingerprint);
  }
  return h;
}

}  // namespace ramet
