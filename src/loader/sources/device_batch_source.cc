// Each source has a CUDA stream of its own, so that its work overlaps with training and with other
// sources. It waits for the stream at the end of a batch: a kernel's error then is thrown in the
// place of its batch, and whoever takes the batch has nothing to wait for.
#include <algorithm>
#include <utility>
#include <vector>

#include "batch_source.h"
#include "kernels/cuda_backend.h"
#include "layer_work.h"
#include "loader/batch_arrays.h"
#include "loader/loader_parts.h"
#include "loader/rows/batch_rows.h"
#include "loader/rows/table_reads.h"
#include "ramet/aggregate_table.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"

namespace ramet {
namespace {

class DeviceBatchSource final : public BatchSource {
 public:
  explicit DeviceBatchSource(std::shared_ptr<const LoaderParts> parts)
      : parts_(std::move(parts)),
        side_(*parts_->device_side),
        stream_(side_.device()),
        pool_(side_.pool()->on(stream_.handle())) {}
  ~DeviceBatchSource() override { finish(); }
  DeviceBatchSource(const DeviceBatchSource&) = delete;
  DeviceBatchSource& operator=(const DeviceBatchSource&) = delete;

  void sample(Batch& batch, const std::atomic<bool>& stop) override {
    finish_on_error(batch, [&] { sample_on_stream(batch, stop); });
  }

  void fetch(Batch& batch, BatchReads* reads, const std::atomic<bool>& stop) override {
    finish_on_error(batch, [&] {
      complete(reads, *parts_, {.pool = parts_->pool}, stop, batch);
      upload_sampled(batch);
      fetch_on_stream(batch, stop);
      stream_.synchronize();
    });
    finish(batch);
  }

 private:
  void sample_on_stream(Batch& batch, const std::atomic<bool>& stop) {
    const SeedList seeds = take_seeds(batch);
    const auto epoch = static_cast<uint64_t>(batch.epoch), step = static_cast<uint64_t>(batch.step);
    if (sampler_ == nullptr && host_sampler_ == nullptr) make_sampler();
    const std::vector<ExcludedEdges> excluded = seeds.view_excluded();
    batch.minibatch = sampler_ != nullptr
                          ? sampler_->sample(seeds.view(), epoch, step, &stop, excluded)
                          : host_sampler_->sample(seeds.view(), epoch, step, &stop, excluded);
  }

  SeedList take_seeds(Batch& batch) {
    if (side_.negatives().empty()) return parts_->seeds->take(batch);
    return parts_->seeds->take(
        batch, [&](size_t input, const Pairs& pairs, const NegativeOptions& options) {
          const auto& there = side_.negatives()[input];
          if (there == nullptr) return draw_negatives(pairs, options);
          return there->draw(pairs, options, pool_, *parts_->pool, stream_.handle());
        });
  }

  // Where the thread of a group samples, there is none.
  void make_sampler() {
    const SampleOptions& sample = parts_->options.sample;
    if (side_.graph() != nullptr)
      sampler_ = std::make_unique<CudaSampler>(side_.graph(), sample, pool_, stream_.handle(),
                                               parts_->options.device.order);
    else
      host_sampler_ = std::make_unique<NeighborSampler>(parts_->graph, sample, parts_->pool);
  }

  // What processors sampled, here or in the thread of a group.
  void upload_sampled(Batch& batch) {
    sampled_ = batch.minibatch;
    for_each_array(batch.minibatch, [&](Array& array) {
      if (array.data != nullptr && array.device == kHost) array = upload(array);
    });
  }

  void fetch_on_stream(Batch& batch, const std::atomic<bool>& stop) {
    const RowSources& sources = side_.sources();
    const ReadContext context{.pool = pool_,
                              .stream = stream_.handle(),
                              .pinned = parts_->pool,
                              .max_sms = parts_->options.device.max_sms,
                              .order = parts_->options.device.order};
    std::vector<Array> ids(sources.size());  // live until the reads are complete
    std::vector<std::unique_ptr<RowRead>> reads;
    for (size_t i = 0; i < sources.size() && !stop.load(); ++i) {
      if (sources[i] == nullptr) {
        batch.tables[i] = upload(batch.tables[i]);
        reads.emplace_back();
        continue;
      }
      ids[i] = ids_of(i, sources[i]->ids_device(), batch.minibatch);
      reads.push_back(sources[i]->submit(ids[i], context));
    }
    average_on_stream(batch, stop);
    transpose_on_stream(batch, stop);
    for (size_t i = 0; i < reads.size(); ++i) {
      if (reads[i] == nullptr) continue;
      GatheredRows gathered = reads[i]->complete();
      batch.tables[i] = std::move(gathered.rows);
      hide_seeds(parts_->options.tables[i], batch.minibatch, batch.tables[i], stream_.handle());
      batch.cache += gathered.cache;
    }
  }

  // The means of fused tables: of rows in device memory by the device, else by this thread.
  void average_on_stream(Batch& batch, const std::atomic<bool>& stop) {
    for (size_t i = 0; i < parts_->options.tables.size() && !stop.load(); ++i) {
      if (!parts_->options.tables[i].fused || batch.minibatch.blocks.empty()) continue;
      if (averages_there(i)) {
        average_there(i, batch);
        continue;
      }
      Batch on_host;
      on_host.minibatch = ids_on_host();
      add_means(*parts_, i, stop, 1, on_host);
      for (TableMeans& means : on_host.means) {
        means.rows = upload(means.rows);
        batch.means.push_back(std::move(means));
      }
    }
  }

  void transpose_on_stream(Batch& batch, const std::atomic<bool>& stop) {
    const auto& blocks = batch.minibatch.blocks;
    const auto& types = parts_->graph->edge_types();
    const size_t first = first_transposed(parts_->options, batch.minibatch);
    if (first >= blocks.size()) return;
    batch.transposed.resize(first * types.size());
    for (size_t b = first; b < blocks.size() && !stop.load(); ++b) {
      for (size_t type = 0; type < types.size(); ++type) {
        const Relation& relation = blocks[b].relations[type];
        batch.transposed.push_back(transpose_on_device(
            relation.indptr, relation.indices,
            blocks[b].num_src[static_cast<size_t>(types[type].src)], *pool_, stream_.handle()));
      }
    }
  }

  [[nodiscard]] bool averages_there(size_t table) const {
    return side_.sources()[table]->on_device() != nullptr &&
           is_numbered_by_node(parts_->options.tables[table]);
  }

  void average_there(size_t i, Batch& batch) {
    const TableRequest& request = parts_->options.tables[i];
    const CudaTable& table = *side_.sources()[i]->on_device();
    const auto& edge_types = parts_->graph->edge_types();
    const Block& block = batch.minibatch.blocks[0];
    const bool is_weighted = has_weights(block);
    const RowForm& form = side_.sources()[i]->form();
    const auto node_type = static_cast<size_t>(request.node_type);
    const Array ids = positions_on_stream(
        i, block.exchange.empty() ? batch.minibatch.n_id[node_type]
                                  : upload(first_sources(ids_on_host(), node_type, *parts_->pool)));
    for (size_t type = 0; type < edge_types.size(); ++type) {
      if (edge_types[type].src != request.node_type) continue;
      const Relation& relation = block.relations[type];
      const Array weights =
          is_weighted ? edge_weights(relation, *pool_, stream_.handle()) : Array{};
      Array means = pool_->allocate_array(form.dtype, form.shape_of(relation.indptr.rows() - 1));
      means.writable = true;
      aggregate_table_on_device(relation.indptr, relation.indices, table, ids, means,
                                {.reduce = is_weighted ? Reduce::kSum : Reduce::kMean,
                                 .weights = is_weighted ? &weights : nullptr},
                                stream_.handle());
      batch.means.push_back(
          {.table = i, .edge_type = static_cast<int>(type), .rows = std::move(means)});
    }
  }

  // In memory of `device` or of the host.
  Array ids_of(size_t table, int device, const Minibatch& minibatch) {
    const TableRequest& request = parts_->options.tables[table];
    const bool is_on_device = device != kHost;
    if (is_on_device && is_numbered_by_node(request)) return rows_on_stream(table, minibatch);
    const Array ids = rows_of(*parts_->graph, request, ids_on_host(), *parts_->pool);
    return is_on_device ? upload(ids) : ids;
  }

  // Else a part of the graph has the rows of some nodes, and processors look their numbers up.
  [[nodiscard]] bool is_numbered_by_node(const TableRequest& request) const {
    if (request.is_of_edges() || request.table() != nullptr) return true;
    return parts_->graph->node_types()[static_cast<size_t>(request.node_type)].rows.is_whole();
  }

  Array rows_on_stream(size_t table, const Minibatch& minibatch) {
    const TableRequest& request = parts_->options.tables[table];
    return positions_on_stream(table, rows_on_device(request, minibatch, *pool_, stream_.handle()));
  }

  Array positions_on_stream(size_t table, const Array& ids) {
    const DevicePositions* positions = side_.positions(table);
    if (positions == nullptr) return ids;
    const Array found = pool_->allocate_array(DType::kInt64, {ids.rows()});
    positions->look_up(ids, found, stream_.handle());
    return found;
  }

  const Minibatch& ids_on_host() {
    if (on_host_.n_id.empty()) on_host_ = ids_to_host(sampled_);
    return on_host_;
  }

  // What rows_of() and add_means() look at.
  Minibatch ids_to_host(const Minibatch& minibatch) {
    const auto& tables = parts_->options.tables;
    const bool of_edges =
        std::any_of(tables.begin(), tables.end(), [](const auto& t) { return t.is_of_edges(); });
    Minibatch ids = minibatch;
    for (Array& of_type : ids.n_id)
      of_type = download(of_type);
    for (Block& block : ids.blocks) {
      for (ExchangePlan& plan : block.exchange)
        plan.source_ids = download(plan.source_ids);
      for (Relation& relation : block.relations)
        relation.position = of_edges ? download(relation.position) : Array{};
    }
    if (!ids.blocks.empty() && averages_here()) download_edges(ids.blocks.front());
    stream_.synchronize();
    return ids;
  }

  // Whether this thread averages a table over the first block.
  [[nodiscard]] bool averages_here() const {
    for (size_t i = 0; i < parts_->options.tables.size(); ++i)
      if (parts_->options.tables[i].fused && !averages_there(i)) return true;
    return false;
  }

  void download_edges(Block& block) {
    for (Relation& relation : block.relations) {
      relation.indptr = download(relation.indptr);
      relation.indices = download(relation.indices);
      relation.edge_weight = download(relation.edge_weight);
    }
  }

  Array download(const Array& array) {
    if (array.device == kHost) return array;
    Array result = parts_->pool->allocate_array(array.dtype, array.shape);
    copy_bytes(result, array);
    return result;
  }

  // `array` is page-locked, so the copy is not done yet; `array` lives until it is.
  Array upload(const Array& array) {
    Array result = pool_->allocate_array(array.dtype, array.shape);
    copy_bytes(result, array);
    being_copied_.push_back(array);
    return result;
  }

  void copy_bytes(const Array& to, const Array& from) {
    if (from.bytes() > 0)
      require_cuda().runtime.copy(side_.device(), to.data, from.data, from.bytes(),
                                  stream_.handle());
  }

  template <typename Body>
  void finish_on_error(const Batch& batch, Body&& body) {
    try {
      body();
    } catch (...) {
      finish(batch);
      throw;
    }
  }

  // The batch may outlive the stream.
  void finish(const Batch& batch) {
    finish();
    set_streams(batch, {});
  }

  // Lets go of host memory that copies may still read.
  void finish() noexcept {
    try {
      stream_.synchronize();
    } catch (const Error&) {
      // Thrown before, or by the next batch; nothing runs any more.
    }
    being_copied_.clear();
    sampled_ = on_host_ = {};
  }

  const std::shared_ptr<const LoaderParts> parts_;
  const DeviceSide& side_;
  const CudaStream stream_;
  const std::shared_ptr<BufferPool> pool_;
  std::unique_ptr<CudaSampler> sampler_;           // or processors sample
  std::unique_ptr<NeighborSampler> host_sampler_;  // made on first use
  Minibatch sampled_;                              // in the memory where it was sampled
  Minibatch on_host_;                              // its ids
  std::vector<Array> being_copied_;
};

}  // namespace

std::unique_ptr<BatchSource> make_device_source(std::shared_ptr<const LoaderParts> parts) {
  return std::make_unique<DeviceBatchSource>(std::move(parts));
}

}  // namespace ramet
