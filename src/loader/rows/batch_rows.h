// Which table a TableRequest names, which of its rows a minibatch needs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ramet/loader.h"
#include "tables/row_source.h"

namespace ramet {

// kNotFound names the tables that there are.
[[nodiscard]] Table table_of(const Graph& graph, const TableRequest& request);

// Of its rows, and of their scale.
[[nodiscard]] int64_t bytes_of(const Table& table);

// The nodes whose rows a table of a node type is gathered at: all, the seeds, or destinations of
// the first block.
[[nodiscard]] std::span<const int64_t> nodes_of(const TableRequest& request,
                                                const Minibatch& minibatch);

// int64 [n] on the host: the rows that a minibatch of the host needs, of each seed or node, or of
// each edge of all blocks. Borrowed from the minibatch where it has them, else of `pool`.
[[nodiscard]] Array rows_of(const Graph& graph,
                            const TableRequest& request,
                            const Minibatch& minibatch,
                            BufferPool& pool);

// The same of a minibatch of a device, there. `pool`: of the device, for `stream`.
[[nodiscard]] Array rows_on_device(const TableRequest& request,
                                   const Minibatch& minibatch,
                                   BufferPool& pool,
                                   CudaStreamHandle stream);

// The same of nodes that the table of a node type has.
[[nodiscard]] Array rows_of_nodes(const Graph& graph,
                                  const TableRequest& request,
                                  std::span<const int64_t> nodes,
                                  BufferPool& pool);

// Puts the zeros of TableRequest::hidden into gathered rows. `stream`: of rows of a device.
void hide_seeds(const TableRequest& request,
                const Minibatch& minibatch,
                const Array& rows,
                CudaStreamHandle stream = nullptr);

using RowSources = std::vector<std::shared_ptr<const RowSource>>;

}  // namespace ramet
