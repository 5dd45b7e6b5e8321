#include "layer_work.h"

#include <utility>

#include "loader/loader_parts.h"
#include "ramet/aggregate_table.h"

namespace ramet {

void add_means(const LoaderParts& parts,
               size_t table,
               const std::atomic<bool>& stop,
               int threads,
               Batch& batch) {
  const Graph& graph = *parts.graph;
  const TableRequest& request = parts.options.tables[table];
  const auto nodes = batch.minibatch.n_id[static_cast<size_t>(request.node_type)].as<int64_t>();
  const Array rows = rows_of_nodes(graph, request, nodes, *parts.pool);
  const Table source = table_of(graph, request);
  const RowForm form = source.form(parts.options.decode);
  const Block& block = batch.minibatch.blocks[0];
  const bool is_weighted = has_weights(block);
  for (size_t type = 0; type < graph.edge_types().size() && !stop.load(); ++type) {
    if (graph.edge_types()[type].src != request.node_type) continue;
    const BlockEdges& edges = *block_edges(graph, batch, 0, type);
    const Array weights = is_weighted ? edge_weights(block.relations[type]) : Array{};
    Array means = parts.pool->allocate_array(form.dtype, form.shape_of(edges.num_dst()));
    means.writable = true;
    aggregate_table(edges, source, rows, means,
                    {.reduce = is_weighted ? Reduce::kSum : Reduce::kMean,
                     .weights = is_weighted ? &weights : nullptr,
                     .threads = threads});
    batch.means.push_back(
        {.table = table, .edge_type = static_cast<int>(type), .rows = std::move(means)});
  }
}

size_t first_transposed(const LoaderOptions& options, const Minibatch& minibatch) {
  if (options.transpose == TransposeAhead::kNone || minibatch.merged)
    return minibatch.blocks.size();
  return options.transpose == TransposeAhead::kAll ? 0 : 1;
}

void work_for_layers(const LoaderParts& parts,
                     const std::atomic<bool>& stop,
                     int threads,
                     Batch& batch) {
  const auto& blocks = batch.minibatch.blocks;
  const LoaderOptions& options = parts.options;
  for (size_t i = 0; i < options.tables.size() && !blocks.empty(); ++i) {
    if (options.tables[i].fused) add_means(parts, i, stop, threads, batch);
  }
  for (size_t b = first_transposed(options, batch.minibatch); b < blocks.size(); ++b) {
    for (size_t type = 0; type < parts.graph->edge_types().size() && !stop.load(); ++type)
      static_cast<void>(block_edges(*parts.graph, batch, b, type)->transposed(threads));
  }
}

}  // namespace ramet
