// Contents for stores in tests, and what is asked of stores.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "ramet/store.h"
#include "ramet/store_writer.h"

namespace ramet::test {

// Contents that own their memory.
class OwnedContents {
 public:
  // Bytes counting up from `first`, the same in every run.
  void add(const std::string& name, DType dtype, std::vector<int64_t> shape, int first = 0) {
    Array array{nullptr, dtype, std::move(shape), nullptr, false};
    std::vector<char>& bytes = memory_.emplace_back(static_cast<size_t>(array.bytes()));
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>((i + static_cast<size_t>(first)) % 251);
    array.data = bytes.data();
    contents.arrays.emplace_back(name, array);
  }
  // The values given.
  void add(const std::string& name, const std::vector<int64_t>& values) {
    add(name, DType::kInt64, {int64_t(values.size())});
    if (!values.empty())
      std::memcpy(contents.arrays.back().second.data, values.data(), values.size() * 8);
  }

  StoreContents contents;

 private:
  std::deque<std::vector<char>> memory_;
};

// A small graph with a table, a split and a big array: every kind of array there is.
inline OwnedContents small_graph() {
  OwnedContents graph;
  graph.contents.node_counts = {{"paper", 4}};
  graph.add("node/paper/feat", DType::kFloat32, {4, 3});
  graph.add("edge/paper__cites__paper/indptr", {0, 1, 2, 3, 5});
  graph.add("edge/paper__cites__paper/indices", {1, 0, 3, 2, 1});
  graph.add("split/train/paper", {2, 0});
  return graph;
}

inline std::string bytes_of(const Array& array) {
  return {static_cast<const char*>(array.data), static_cast<size_t>(array.bytes())};
}

inline void check_equal(const Store& store, const StoreContents& contents) {
  CHECK(store.node_counts() == contents.node_counts);
  REQUIRE(store.arrays().size() == contents.arrays.size());
  for (const auto& entry : contents.arrays) {
    const auto& name = entry.first;
    const Array& array = entry.second;
    CAPTURE(name);
    REQUIRE(store.arrays().count(name) == 1);
    const Array& stored = store.arrays().at(name);
    CHECK(stored.dtype == array.dtype);
    CHECK(stored.shape == array.shape);
    CHECK(stored.data != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(stored.data) % 16 == 0);
    CHECK((bytes_of(stored) == bytes_of(array)));
  }
}

}  // namespace ramet::test
