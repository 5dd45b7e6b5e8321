// Samples a step's seeds and gathers the tables' rows, into buffers of the loader's pool.
#include "batch_maker.h"

#include <utility>

#include "clock.h"

namespace ramet {

BatchMaker::BatchMaker(const NeighborLoader& loader, int64_t epoch)
    : loader_(loader),
      epoch_(epoch),
      sampler_(loader.graph(), loader.options().sample, loader.pool()) {}

Batch BatchMaker::make(int64_t step, const std::atomic<bool>& stop) {
  Batch batch;
  batch.epoch = epoch_;
  batch.step = step;
  batch.global_num_seeds = loader_.global_num_seeds(step);
  auto start = Clock::now();
  batch.minibatch =
      sampler_.sample(loader_.options().seed_type, loader_.seeds(epoch_, step),
                      static_cast<uint64_t>(epoch_), static_cast<uint64_t>(step), &stop);
  batch.timings.sample_seconds = seconds_since(start);
  start = Clock::now();
  for (const TableRequest& request : loader_.options().tables) {
    if (stop.load()) break;
    batch.tables.push_back(gather(request, batch.minibatch));
  }
  batch.timings.gather_seconds = seconds_since(start);
  return batch;
}

Array BatchMaker::gather(const TableRequest& request, const Minibatch& minibatch) const {
  const auto type = static_cast<size_t>(request.node_type);
  const NodeType& node_type = loader_.graph()->node_types()[type];
  const auto scale = node_type.scales.find(request.name);
  const Table table(node_type.tables.at(request.name),
                    scale == node_type.scales.end() ? Array{} : scale->second, request.name);
  const bool decode = loader_.options().decode && table.is_encoded();
  std::span<const int64_t> ids = minibatch.n_id[type].as<int64_t>();
  if (request.at_seeds) ids = ids.first(static_cast<size_t>(minibatch.num_seeds));
  std::vector<int64_t> shape = table.rows().shape;
  shape[0] = static_cast<int64_t>(ids.size());
  const DType dtype = decode ? DType::kFloat32 : table.rows().dtype;
  Array out = loader_.pool()->allocate_array(dtype, std::move(shape));
  if (decode)
    table.gather_float32(ids, static_cast<float*>(out.data));
  else
    table.gather(ids, out.data);
  return out;
}

BatchSize size_of(const Batch& batch) {
  BatchSize size;
  for (const Array& ids : batch.minibatch.n_id) {
    size.nodes += ids.rows();
    size.bytes += ids.bytes();
  }
  for (const Block& block : batch.minibatch.blocks) {
    for (const Relation& relation : block.relations) {
      size.edges += relation.indices.rows();
      size.bytes += relation.indptr.bytes() + relation.indices.bytes() + relation.position.bytes();
      if (relation.edge_weight.data != nullptr) size.bytes += relation.edge_weight.bytes();
    }
  }
  for (const Array& rows : batch.tables)
    size.table_bytes += rows.bytes();
  size.bytes += size.table_bytes;
  return size;
}

}  // namespace ramet
