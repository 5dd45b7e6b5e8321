// What a part of a graph says about its nodes: who owns them, and which have rows here.
#pragma once

#include <vector>

#include "faults.h"
#include "ramet/graph.h"

namespace ramet {

// Sets owner, rows and num_rows of all node types; of a whole store to all nodes. Throws kCorrupt
// naming the array whose shape or ends do not fit. Reads one entry for each part and type, and no
// more.
void read_part(const Store& store, std::vector<NodeType>& types);

// Reads every entry of what the above reads the ends of.
void check_owners(const Graph& graph, Faults& faults);

}  // namespace ramet
