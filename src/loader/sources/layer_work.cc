#include "layer_work.h"

#include <algorithm>
#include <utility>

#include "loader/loader_parts.h"
#include "ramet/aggregate_table.h"

namespace ramet {

Array first_sources(const Minibatch& minibatch, size_t node_type, BufferPool& pool) {
  const Block& block = minibatch.blocks[0];
  const Array& own = minibatch.n_id[node_type];
  if (block.exchange.empty()) return own;
  const Array& pulled = block.exchange[node_type].source_ids;
  Array all = pool.allocate_array(DType::kInt64, {block.num_src[node_type]});
  auto* const out = static_cast<int64_t*>(all.data);
  const auto num_dst = static_cast<size_t>(block.num_dst[node_type]);
  std::copy_n(own.as<int64_t>().data(), num_dst, out);
  with_ids(pulled, [&](auto ids) { std::copy(ids.begin(), ids.end(), out + num_dst); });
  return all;
}

void add_means(const LoaderParts& parts,
               size_t table,
               const std::atomic<bool>& stop,
               int threads,
               Batch& batch) {
  const Graph& graph = *parts.graph;
  const TableRequest& request = parts.options.tables[table];
  const Array nodes =
      first_sources(batch.minibatch, static_cast<size_t>(request.node_type), *parts.pool);
  const Array rows = rows_of_nodes(graph, request, nodes.as<int64_t>(), *parts.pool);
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
