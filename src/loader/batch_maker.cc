// Samples a step's seeds and gathers the tables' rows, into buffers of the loader's pool.
#include "batch_maker.h"

#include "clock.h"
#include "gather_table.h"

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
    batch.tables.push_back(gather_table(loader_, request, batch.minibatch));
  }
  batch.timings.gather_seconds = seconds_since(start);
  return batch;
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
    for (const ExchangePlan& plan : block.exchange)
      size.bytes += plan.send_rows.bytes() + plan.source_ids.bytes();
  }
  for (const Array& rows : batch.tables)
    size.table_bytes += rows.bytes();
  size.bytes += size.table_bytes;
  return size;
}

}  // namespace ramet
