// Each maker has a stream of its own, so that what it is given overlaps with training, and with
// other makers. It waits for its stream at the end of a batch: an error of a kernel then is thrown
// in the place of its batch, and whoever takes the batch has nothing to wait for.
#include "device_batch_maker.h"

#include <algorithm>
#include <utility>

#include "batch_rows.h"
#include "clock.h"
#include "device_side.h"
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
    const auto ids_of = [&](const TableRequest& request, int device) {
      if (device != kHost)
        return rows_on_device(request, batch.minibatch, *pool_, stream_.handle());
      if (on_host_.n_id.empty()) on_host_ = ids_to_host(batch.minibatch);
      return rows_of(*loader_.graph(), request, on_host_, *loader_.pool());
    };
    gather_tables(loader_.options().tables, loader_.sources(), ids_of,
                  {.pool = pool_,
                   .stream = stream_.handle(),
                   .pinned = loader_.pool(),
                   .max_sms = loader_.options().on.max_sms},
                  &stop, batch);
  }

  // What rows_of() looks at.
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
  Minibatch on_host_;  // the batch, or its ids alone
  std::vector<Array> being_copied_;
};

}  // namespace

std::unique_ptr<BatchMaker> make_device_batch_maker(const NeighborLoader& loader, int64_t epoch) {
  return std::make_unique<DeviceBatchMaker>(loader, epoch);
}

}  // namespace ramet
