// The contents of a store with every kind of array, and memory for them to be overwritten.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ramet/graph.h"
#include "ramet/ownership.h"
#include "ramet/part.h"
#include "ramet/store_writer.h"
#include "ramet/table.h"

namespace ramet::fuzz {

inline constexpr int64_t kPapers = 10, kAuthors = 4;

inline Array own(Array array) {
  const auto bytes = static_cast<size_t>(array.bytes());
  const auto memory = std::make_shared<std::vector<char>>(bytes);
  if (bytes > 0) std::copy_n(static_cast<const char*>(array.data), bytes, memory->data());
  array.data = memory->data();
  array.owner = memory;
  return array;
}

template <typename T>
Array own(const std::vector<T>& values, std::vector<int64_t> shape = {}) {
  Array array = borrow(values);
  if (!shape.empty()) array.shape = std::move(shape);
  return own(std::move(array));
}

inline Array zeros(DType dtype, std::vector<int64_t> shape) {
  Array array{.data = nullptr, .dtype = dtype, .shape = std::move(shape), .owner = nullptr};
  const std::vector<char> bytes(static_cast<size_t>(array.bytes()));
  array.data = const_cast<char*>(bytes.data());
  return own(std::move(array));
}

inline StoreContents small_contents() {
  StoreContents contents;
  contents.node_counts = {{"author", kAuthors}, {"paper", kPapers}};
  contents.arrays = {
      {"edge/author__writes__paper/indptr", own<int64_t>({0, 1, 2, 3, 4, 5, 6, 6, 6, 6, 7})},
      {"edge/author__writes__paper/indices", own<int32_t>({0, 1, 2, 3, 0, 1, 2})},
      {"edge/paper__cites__paper/indptr", own<int64_t>({0, 4, 6, 6, 7, 8, 9, 10, 11, 12, 16})},
      {"edge/paper__cites__paper/indices",
       own<int32_t>({1, 2, 3, 4, 0, 2, 5, 6, 7, 8, 9, 0, 1, 3, 5, 7})},
      {"edge/paper__cites__paper/edge_ids",
       own<int32_t>({15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0})},
      {"node/author/feat", zeros(DType::kFloat16, {kAuthors, 3})},
      {"node/paper/feat", zeros(DType::kInt8, {kPapers, 4})},
      {"node/paper/feat.scale", zeros(DType::kFloat32, {kPapers, 1})},
      {"node/paper/label", zeros(DType::kInt64, {kPapers})},
      {"split/train/paper", own<int32_t>({1, 3, 5, 9})}};
  return contents;
}

// The second of two parts of a graph of papers alone: their owners are a vector.
inline StoreContents part_contents() {
  StoreContents whole;
  whole.node_counts = {{"paper", kPapers}};
  for (auto& [name, array] : small_contents().arrays) {
    if (name.find("author") == std::string::npos) whole.arrays.emplace_back(name, array);
  }
  const auto graph = Graph::from_store(make_segment(whole));
  Array owners = zeros(DType::kUInt8, {kPapers});
  for (const int64_t paper : {0, 3, 4, 9})
    static_cast<uint8_t*>(owners.data)[paper] = 1;
  const OwnedNodes owned = owned_nodes(Ownership::by_vector(owners, 2), 1);
  const auto nodes = owned.nodes.as<int64_t>();
  const PartEdges edges = in_edges(graph->edge_types()[0], nodes);
  StoreContents part;
  part.node_counts = whole.node_counts;
  part.part = Part{1, 2, graph->fingerprint()};
  part.arrays = {
      {"edge/paper__cites__paper/indptr", own(edges.indptr)},
      {"edge/paper__cites__paper/indices", own(edges.indices)},
      {"edge/paper__cites__paper/edge_ids", own(edges.edge_ids)},
      {"node/paper/label", own(Table(graph->node_types()[0].tables.at("label")).gather(nodes))},
      {"owned/paper", own(owned.bitmap)},
      {"owner/paper", own(owners)},
      {"split/train/paper", own<int32_t>({1, 3, 5, 9})}};
  return part;
}

}  // namespace ramet::fuzz
