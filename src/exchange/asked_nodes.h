// AskedNodes: how ranks name nodes of one type to each other: by id. With disjoint trees, the
// number of a tree stands above the bits of the id.
#pragma once

#include <cstdint>

#include "ramet/ownership.h"

namespace ramet {

struct AskedNodes {
  NodeRange own;  // where all ids lie that this rank owns
  int id_bits = 63;
  int64_t num_trees = 1;

  [[nodiscard]] bool have_trees() const { return id_bits < 63; }
  [[nodiscard]] int64_t id(int64_t node) const {
    return node & static_cast<int64_t>((uint64_t{1} << id_bits) - 1);
  }
  [[nodiscard]] int64_t tree(int64_t node) const { return node >> id_bits; }
  // Whether this rank may be asked for it.
  [[nodiscard]] bool has(int64_t node) const {
    const auto offset = static_cast<uint64_t>(id(node)) - static_cast<uint64_t>(own.begin);
    const bool is_tree = static_cast<uint64_t>(tree(node)) < static_cast<uint64_t>(num_trees);
    return is_tree && offset < static_cast<uint64_t>(own.size());
  }
};

}  // namespace ramet
