#include "batch_arrays.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"

namespace ramet {

void set_streams(const Batch& batch, const std::vector<CudaStreamHandle>& streams) {
  for_each_array(batch, [&](const Array& array) { DevicePool::set_users(array, streams); });
}

void set_stream(const Batch& batch, CudaStreamHandle stream) {
  set_streams(batch, {stream});
}

void record_stream(const Batch& batch, CudaStreamHandle stream) {
  for_each_array(batch, [&](const Array& array) { DevicePool::add_user(array, stream); });
}

Array rows_of_block(const Batch& batch, size_t table, int edge_type, size_t block) {
  const auto& blocks = batch.minibatch.blocks;
  const auto count = [&](size_t b) {
    return blocks.at(b).relations.at(static_cast<size_t>(edge_type)).indices.rows();
  };
  Array rows = batch.tables.at(table);
  int64_t begin = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const bool is_before = batch.minibatch.merged ? b > block : b < block;
    if (is_before) begin += count(b);
  }
  rows.data = static_cast<char*>(rows.data) + begin * rows.row_bytes();
  rows.shape[0] = count(block);
  return rows;
}

const std::shared_ptr<const BlockEdges>& block_edges(const Graph& graph,
                                                     Batch& batch,
                                                     size_t block,
                                                     size_t edge_type) {
  const auto& blocks = batch.minibatch.blocks;
  const auto& types = graph.edge_types();
  require_index(static_cast<int64_t>(block), std::ssize(blocks), "block");
  require_index(static_cast<int64_t>(edge_type), std::ssize(types), "edge type");
  batch.block_edges.resize(blocks.size() * types.size());
  auto& edges = batch.block_edges[block * types.size() + edge_type];
  if (edges == nullptr) {
    const Relation& relation = blocks[block].relations[edge_type];
    const auto source = static_cast<size_t>(types[edge_type].src);
    edges = BlockEdges::trusted(relation.indptr, relation.indices, blocks[block].num_src[source]);
  }
  return edges;
}

BatchSize size_of(const Batch& batch) {
  BatchSize size;
  for (const Array& ids : batch.minibatch.n_id)
    size.nodes += ids.rows();
  for (const Block& block : batch.minibatch.blocks) {
    for (const Relation& relation : block.relations)
      size.edges += relation.indices.rows();
  }
  for_each_array(batch, [&](const Array& array) { size.bytes += array.bytes(); });
  size.bytes += batch.input_id.bytes() + batch.minibatch.seed_times.bytes();
  for (const Array& rows : batch.tables)
    size.table_bytes += rows.bytes();
  return size;
}

}  // namespace ramet
