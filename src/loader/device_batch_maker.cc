// Each maker has a stream of its own, so that what it is given overlaps with training, and with
// other makers. It waits for its stream at the end of a batch: an error of a kernel then is thrown
// in the place of its batch, and whoever takes the batch has nothing to wait for.
#include "device_batch_maker.h"

#include <algorithm>
#include <utility>

#include "clock.h"
#include "device_side.h"
#include "gather_table.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"

namespace ramet {
namespace {

class DeviceBatchMaker final : public BatchMaker {
 public:
  DeviceBatchMaker(const NeighborLoader& loader, int64_t epoch)
      : loader_(loader),
        side_(*loader.device_side()),
        epoch_(epoch),
        stream_(side_.device()),
        pool_(side_.pool()->on(stream_.handle())) {
    const SampleOptions& sample = loader.options().sample;
    if (side_.graph() != nullptr)
      sampler_ = std::make_unique<CudaSampler>(side_.graph(), sample, pool_, stream_.handle());
    else
      host_sampler_ = std::make_unique<NeighborSampler>(loader.graph(), sample, loader.pool());
  }
  ~DeviceBatchMaker() override { finish(); }
  DeviceBatchMaker(const DeviceBatchMaker&) = delete;
  DeviceBatchMaker& operator=(const DeviceBatchMaker&) = delete;

  Batch make(int64_t step, const std::atomic<bool>& stop) override {
    Batch batch = empty_batch(loader_, epoch_, step);
    try {
      auto start = Clock::now();
      sample(batch, stop);
      batch.timings.sample_seconds = seconds_since(start);
      start = Clock::now();
      gather(batch, stop);
      stream_.synchronize();
      count_hits(batch);
      batch.timings.gather_seconds = seconds_since(start);
    } catch (...) {
      finish();
      throw;
    }
    finish();
    set_users(batch, {});
    return batch;
  }

 private:
  void sample(Batch& batch, const std::atomic<bool>& stop) {
    const int seed_type = loader_.options().seed_type;
    const std::vector<int64_t> seeds = loader_.seeds(epoch_, batch.step);
    const auto epoch = static_cast<uint64_t>(epoch_), step = static_cast<uint64_t>(batch.step);
    if (sampler_ != nullptr) {
      batch.minibatch = sampler_->sample(seed_type, seeds, epoch, step, &stop);
    } else {
      on_host_ = host_sampler_->sample(seed_type, seeds, epoch, step, &stop);
      batch.minibatch = upload(on_host_);
    }
  }

  void gather(Batch& batch, const std::atomic<bool>& stop) {
    const auto& requests = loader_.options().tables;
    hits_ = pool_->allocate_array(DType::kInt64, {1});
    cuda().fill(side_.device(), hits_.data, 0, hits_.bytes(), stream_.handle());
    for (size_t i = 0; i < requests.size() && !stop.load(); ++i) {
      const CudaTable* table = side_.table(i);
      batch.tables.push_back(table == nullptr ? stage(requests[i], batch)
                                              : read(*table, requests[i], batch));
    }
  }

  // The device reads the rows itself.
  Array read(const CudaTable& table, const TableRequest& request, Batch& batch) {
    const Array ids = rows_on_device(request, batch.minibatch);
    if (table.num_cached() > 0) batch.cache_lookups += ids.rows();
    const TableForm form = form_of(loader_, request);
    std::vector<int64_t> shape = table.table().rows().shape;
    shape[0] = ids.rows();
    Array out = pool_->allocate_array(form.dtype, std::move(shape));
    table.gather(ids, out, stream_.handle(),
                 {.decode = form.dtype != table.table().rows().dtype,
                  .max_sms = loader_.options().on.max_sms,
                  .hits = static_cast<uint64_t*>(hits_.data)});
    return out;
  }

  // Which rows of its table a request is for.
  Array rows_on_device(const TableRequest& request, const Minibatch& minibatch) {
    if (!request.is_of_edges()) {
      Array ids = minibatch.n_id[static_cast<size_t>(request.node_type)];
      if (request.at_seeds) ids.shape[0] = minibatch.num_seeds;
      return ids;
    }
    Array rows = pool_->allocate_array(DType::kInt64, {num_edges(minibatch, request.edge_type)});
    rows.device = side_.device();
    Array of_block = rows;
    for (const Block& block : minibatch.blocks) {
      const Relation& relation = block.relations[static_cast<size_t>(request.edge_type)];
      of_block.shape = relation.position.shape;
      copy_bytes(of_block, positions(relation, *pool_, stream_.handle()));
      of_block.data = static_cast<int64_t*>(of_block.data) + of_block.rows();
    }
    return rows;
  }

  // This thread gathers the rows into page-locked memory, which is then copied.
  Array stage(const TableRequest& request, const Batch& batch) {
    if (on_host_.n_id.empty()) on_host_ = ids_to_host(batch.minibatch);
    return upload(gather_table(loader_, request, on_host_));
  }

  // What gather_table() looks at.
  Minibatch ids_to_host(const Minibatch& minibatch) {
    const auto& requests = loader_.options().tables;
    const bool of_edges = std::any_of(requests.begin(), requests.end(),
                                      [](const TableRequest& r) { return r.is_of_edges(); });
    Minibatch ids = minibatch;
    for (Array& of_type : ids.n_id)
      of_type = download(of_type);
    for (Block& block : ids.blocks) {
      for (Relation& relation : block.relations)
        relation.position = of_edges ? download(relation.position) : Array{};
    }
    stream_.synchronize();
    return ids;
  }

  Array download(const Array& array) {
    Array result = loader_.pool()->allocate_array(array.dtype, array.shape);
    copy_bytes(result, array);
    return result;
  }

  Minibatch upload(const Minibatch& minibatch) {
    Minibatch result = minibatch;
    for_each_array(result, [&](Array& array) {
      if (array.data != nullptr) array = upload(array);
    });
    return result;
  }

  // `array` is page-locked, so the copy is not done yet; it lives until it is.
  Array upload(const Array& array) {
    Array result = pool_->allocate_array(array.dtype, array.shape);
    copy_bytes(result, array);
    being_copied_.push_back(array);
    return result;
  }

  void copy_bytes(const Array& to, const Array& from) {
    if (from.bytes() > 0)
      cuda().copy(side_.device(), to.data, from.data, from.bytes(), stream_.handle());
  }

  void count_hits(Batch& batch) {
    if (batch.cache_lookups == 0) return;
    const Array hits = loader_.pool()->allocate_array(DType::kInt64, {1});
    copy_bytes(hits, hits_);
    stream_.synchronize();
    batch.cache_hits = hits.as<int64_t>()[0];
  }

  // Lets go of memory of the host that copies may still read.
  void finish() noexcept {
    try {
      stream_.synchronize();
    } catch (const Error&) {
      // Thrown before, or by the next batch; nothing runs any more.
    }
    being_copied_.clear();
    on_host_ = {};
  }

  static const CudaRuntime& cuda() { return require_cuda().runtime; }

  const NeighborLoader& loader_;
  const DeviceSide& side_;
  const int64_t epoch_;
  const CudaStream stream_;
  const std::shared_ptr<BufferPool> pool_;
  std::unique_ptr<CudaSampler> sampler_;  // or processors sample
  std::unique_ptr<NeighborSampler> host_sampler_;
  Array hits_;
  Minibatch on_host_;  // the batch, or its ids alone
  std::vector<Array> being_copied_;
};

}  // namespace

std::unique_ptr<BatchMaker> make_device_batch_maker(const NeighborLoader& loader, int64_t epoch) {
  return std::make_unique<DeviceBatchMaker>(loader, epoch);
}

}  // namespace ramet
