// The rows of one table that belong to a batch.
#pragma once

#include <map>
#include <string>

#include "ramet/loader.h"
#include "tables/cache/row_cache.h"

namespace ramet {

// What is asked of the node type, or the edge type, of a request.
struct TablesOfType {
  std::string type;  // "node type 'paper'"
  const std::map<std::string, Array>*tables, *scales;
};

[[nodiscard]] TablesOfType tables_of(const Graph& graph, const TableRequest& request);

[[nodiscard]] Table table_of(const NeighborLoader& loader, const TableRequest& request);

// Of all blocks.
[[nodiscard]] int64_t num_edges(const Minibatch& minibatch, int edge_type);

// How rows of a table are handed out: decoded where the loader decodes and they are encoded.
struct TableForm {
  DType dtype;
  int64_t row_bytes;
};

[[nodiscard]] TableForm form_of(const NeighborLoader& loader, const TableRequest& request);

// Into a buffer of the loader's pool; through `cache`, where there is one.
[[nodiscard]] Array gather_table(const NeighborLoader& loader,
                                 const TableRequest& request,
                                 const Minibatch& minibatch,
                                 RowCache* cache = nullptr);

}  // namespace ramet
