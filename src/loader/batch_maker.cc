#include "batch_maker.h"

#include "batch_rows.h"
#include "clock.h"
#include "device_batch_maker.h"
#include "ramet/cuda_memory.h"

namespace ramet {

namespace {

// Samples a step's seeds and gathers the tables' rows, into buffers of the loader's pool.
class HostBatchMaker final : public BatchMaker {
 public:
  HostBatchMaker(const NeighborLoader& loader, int64_t epoch)
      : loader_(loader),
        epoch_(epoch),
        sampler_(loader.graph(), loader.options().sample, loader.pool()) {}

  Batch make(int64_t step, const std::atomic<bool>& stop) override {
    Batch batch = empty_batch(loader_, epoch_, step);
    auto start = Clock::now();
    batch.minibatch =
        sampler_.sample(loader_.options().seed_type, loader_.seeds(epoch_, step),
                        static_cast<uint64_t>(epoch_), static_cast<uint64_t>(step), &stop);
    batch.timings.sample_seconds = seconds_since(start);
    start = Clock::now();
    gather_tables(*loader_.graph(), loader_.options().tables, loader_.sources(),
                  {.pool = loader_.pool()}, &stop, batch);
    batch.timings.gather_seconds = seconds_since(start);
    return batch;
  }

 private:
  const NeighborLoader& loader_;
  const int64_t epoch_;
  NeighborSampler sampler_;
};

// Calls body with every array of `batch` that has data.
template <typename Body>
void for_each_array(const Batch& batch, Body&& body) {
  const auto visit = [&](const Array& array) {
    if (array.data != nullptr) body(array);
  };
  ramet::for_each_array(batch.minibatch, visit);
  for (const Array& rows : batch.tables)
    visit(rows);
}

}  // namespace

std::unique_ptr<BatchMaker> make_batch_maker(const NeighborLoader& loader, int64_t epoch) {
  if (loader.device_side() == nullptr) return std::make_unique<HostBatchMaker>(loader, epoch);
  return make_device_batch_maker(loader, epoch);
}

Batch empty_batch(const NeighborLoader& loader, int64_t epoch, int64_t step) {
  Batch batch;
  batch.epoch = epoch;
  batch.step = step;
  batch.global_num_seeds = loader.global_num_seeds(step);
  return batch;
}

void set_users(const Batch& batch, const std::vector<CudaStreamHandle>& streams) {
  for_each_array(batch, [&](const Array& array) { DevicePool::set_users(array, streams); });
}

void hand_over(const Batch& batch, CudaStreamHandle stream) {
  set_users(batch, {stream});
}

void also_used_on(const Batch& batch, CudaStreamHandle stream) {
  for_each_array(batch, [&](const Array& array) { DevicePool::add_user(array, stream); });
}

Array rows_of_block(const Batch& batch, size_t table, int edge_type, size_t block) {
  const auto& blocks = batch.minibatch.blocks;
  const auto count = [&](size_t b) {
    return blocks.at(b).relations.at(static_cast<size_t>(edge_type)).indices.rows();
  };
  Array rows = batch.tables.at(table);
  int64_t begin = 0;
  for (size_t b = 0; b < block; ++b)
    begin += count(b);
  rows.data = static_cast<char*>(rows.data) + begin * rows.row_bytes();
  rows.shape[0] = count(block);
  return rows;
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
  for (const Array& rows : batch.tables)
    size.table_bytes += rows.bytes();
  return size;
}

}  // namespace ramet
