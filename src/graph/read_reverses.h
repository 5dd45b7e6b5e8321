// Which edge type of a store has the reverses of another's edges.
#pragma once

#include <vector>

#include "ramet/graph.h"

namespace ramet {

// Sets EdgeType::reverse and num_input_edges of all types. Throws kCorrupt where the store names
// types that are no reverse types of each other.
void read_reverses(const Store& store, std::vector<EdgeType>& edge_types);

}  // namespace ramet
