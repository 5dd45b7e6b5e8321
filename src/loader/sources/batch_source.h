// BatchSource: makes batches in two stages. *sample* finds a batch's nodes and edges, *fetch* the
// rows of its tables. Host, device and cooperative batches each have a source; a BatchStream runs
// its stages, times and counts them.
//
// One thread at a time uses a source; each has scratch memory of its own. What a device samples the
// same source fetches, on its own CUDA stream; but of ranks that cooperate the group's source
// samples.
#pragma once

#include <atomic>
#include <memory>

#include "ramet/loader.h"
#include "tables/row_source.h"

namespace ramet {

class BatchReads;

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // Samples the minibatch of batch.epoch, batch.step and the input nodes batch.input_id. Once
  // `stop` is set, each stage returns early, and the batch is meaningless.
  virtual void sample(Batch& batch, const std::atomic<bool>& stop) = 0;
  // Gathers the rows of a sampled batch. Then any thread may use the batch. `reads`: the
  // rows on their way that processors read (table_reads.h), or nullptr.
  virtual void fetch(Batch& batch, BatchReads* reads, const std::atomic<bool>& stop) = 0;
};

// Of host batches, which processors make in buffers of the loader's pool, and of device batches.
[[nodiscard]] std::unique_ptr<BatchSource> make_host_source(
    std::shared_ptr<const LoaderParts> parts);
[[nodiscard]] std::unique_ptr<BatchSource> make_device_source(
    std::shared_ptr<const LoaderParts> parts);

// Fetches a batch of no stream, through the loader's caches where no stream has these.
void fetch_alone(std::shared_ptr<const LoaderParts> parts,
                 BatchSource& source,
                 const ReadContext& context,
                 Batch& batch);

}  // namespace ramet
