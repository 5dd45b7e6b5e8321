#include <optional>
#include <utility>

#include "batch_source.h"
#include "layer_work.h"
#include "loader/loader_parts.h"
#include "loader/rows/batch_rows.h"
#include "loader/rows/table_reads.h"

namespace ramet {
namespace {

class HostBatchSource final : public BatchSource {
 public:
  explicit HostBatchSource(std::shared_ptr<const LoaderParts> parts) : parts_(std::move(parts)) {
    if (parts_->options.subgraphs == nullptr)
      sampler_.emplace(parts_->graph, parts_->options.sample, parts_->pool);
  }

  void sample(Batch& batch, const std::atomic<bool>& stop) override {
    const SeedList seeds = parts_->seeds->take(batch);
    if (!sampler_) {
      batch.minibatch = induced_minibatch(*parts_->graph, seeds.view(), *parts_->pool);
      return;
    }
    batch.minibatch =
        sampler_->sample(seeds.view(), static_cast<uint64_t>(batch.epoch),
                         static_cast<uint64_t>(batch.step), &stop, seeds.view_excluded());
  }

  void fetch(Batch& batch, BatchReads* reads, const std::atomic<bool>& stop) override {
    const Graph& graph = *parts_->graph;
    complete(reads, *parts_, {.pool = parts_->pool}, stop, batch);
    work_for_layers(*parts_, stop, 1, batch);
    if (!parts_->options.edges_ahead || !batch.minibatch.merged) return;
    for (int type = 0; type < std::ssize(graph.edge_types()) && !stop.load(); ++type)
      batch.edges.push_back({merged_edge_index(graph, batch.minibatch, type),
                             merged_edge_ids(graph, batch.minibatch, type)});
  }

 private:
  const std::shared_ptr<const LoaderParts> parts_;
  std::optional<NeighborSampler> sampler_;  // nullopt: batches are subgraphs
};

}  // namespace

std::unique_ptr<BatchSource> make_host_source(std::shared_ptr<const LoaderParts> parts) {
  return std::make_unique<HostBatchSource>(std::move(parts));
}

}  // namespace ramet
