// Stores that tell which one they are, for tests in which one replaces another.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "ramet/store.h"
#include "store_fixture.h"

namespace ramet::test {

// One table of `chunks` chunks whose bytes tell which store it is.
inline OwnedContents marked(int mark, int64_t chunks = 3) {
  OwnedContents contents;
  contents.contents.node_counts = {{"a", mark}};
  contents.add("node/a/feat", DType::kUInt8, {chunks << 21}, mark);
  return contents;
}

// Opens the store and checks every byte of it.
inline int mark_of(const std::string& path) {
  const auto store = Store::open(path);
  const auto mark = static_cast<int>(store->node_counts().at("a"));
  check_equal(*store, marked(mark).contents);
  return mark;
}

// How many files and folders are in a folder, hidden ones too.
inline int64_t entries(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace ramet::test
