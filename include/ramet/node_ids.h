// NodeIds: users' ids of the nodes of a type, as a store keeps them (docs/format.md, section 1).
// Positions are found by bisection on the mapped arrays: nothing is loaded.
//
// Memory: keeps the arrays alive; cheap to copy. Threads and forks: any. Failure: kCorrupt naming
// file, position and value where the arrays contradict each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ramet/id_map.h"
#include "ramet/store.h"

namespace ramet {

class Faults;  // of find_faults() (graph.h)

class NodeIds {
 public:
  // Of the folder "ids/<type>" of a store, whose names and shapes are checked.
  NodeIds(const Store& store, const std::string& folder, int64_t num_nodes);

  // As of IdMap::create().
  [[nodiscard]] const std::string& kind() const { return kind_; }
  // The position of each id, -1 of unknown ones. kInvalidArgument for ids of another kind.
  void find(const IdList& ids, std::span<int64_t> positions, int threads = 0) const;
  // The ids of the nodes at these positions, copied. kOutOfRange.
  [[nodiscard]] IdList of(std::span<const int64_t> positions, int threads = 0) const;
  // Reads all: each id comes after the one before it in order, and text is UTF-8.
  void check(Faults& faults) const;

 private:
  // Calls body(ids) with all of them; `list`, of this kind, in their place.
  template <typename Body>
  void with_ids_in(const IdList& list, Body&& body) const;

  std::string kind_;
  IdList ids_;
  Array order_;
  std::string values_location_, offsets_location_, order_location_;
};

}  // namespace ramet
