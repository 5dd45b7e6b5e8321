// TableReads: the rows of a stream's batches, through the loader's caches and ahead of the loop.
//
// A batch is announced and begun, each in the order of steps, and completed by any thread. What is
// on its way between begin and complete are rows of sources that read ahead, and those that caches
// miss; other tables are gathered at the end. Rows of other machines are pulled in between, by the
// thread of the group.
//
// Threads: one at a time announces and begins. Failure: as the sources.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "batch_rows.h"
#include "ramet/loader.h"
#include "table_caches.h"

namespace ramet {

// The rows of one batch. Its minibatch must stay until they are complete.
class BatchReads {
 public:
  // None are on their way yet.
  explicit BatchReads(const LoaderParts& parts);

  // Pulls rows of other machines, and sends what other ranks ask for.
  void pull(const Exchange& exchange);
  // Waits for rows and gathers others: into batch.tables. Counts to batch.cache, batch.read and its
  // seconds. Once `stop` is set it returns early, and the tables are meaningless.
  void complete(const ReadContext& context, const std::atomic<bool>& stop, Batch& batch);

 private:
  friend class TableReads;

  const LoaderParts& parts_;
  std::vector<Array> ids_;  // by table; outlive the reads
  std::vector<std::unique_ptr<RowRead>> reads_;
  std::vector<ExchangeWork> exchanges_;
  std::vector<bool> is_cached_;
};

// kInvalidArgument where rows are pulled: for batches that are made without the thread of a group.
void require_none_pulled(const LoaderParts& parts);
// As BatchReads::pull() of a batch that needs no rows: other ranks may.
void pull_nothing(const LoaderParts& parts, const Exchange& exchange);

// `reads`, where there are some; else gathers all rows now.
void complete(BatchReads* reads,
              const LoaderParts& parts,
              const ReadContext& context,
              const std::atomic<bool>& stop,
              Batch& batch);

class TableReads {
 public:
  // Borrows the caches of `parts`.
  explicit TableReads(std::shared_ptr<const LoaderParts> parts);
  TableReads(const TableReads&) = delete;
  TableReads& operator=(const TableReads&) = delete;
  ~TableReads();  // its BatchReads must be gone

  // How many batches after the one to begin next may be announced.
  [[nodiscard]] int window() const { return window_; }
  // Announces the nodes of a sampled batch to LoaderOptions::prefetch_hints.
  void hint(const Batch& batch);
  // A sampled batch, whose minibatch must stay until it is begun.
  void announce(const Batch& batch);
  // Starts to read the batch that was announced first.
  [[nodiscard]] std::unique_ptr<BatchReads> begin(ReadContext context, const Batch& batch);
  // Every batch was completed. Gives the caches back.
  void finish();
  // The stream ends here: its BatchReads are gone. Gives the caches back, empty if it used them.
  void leave() noexcept;

 private:
  [[nodiscard]] StreamCache* cache_of(size_t table) const;
  [[nodiscard]] Array ids_of(const Batch& batch, size_t table, BufferPool& pool) const;

  std::shared_ptr<const LoaderParts> parts_;
  TableCaches::Caches caches_;
  bool is_first_ = false;  // no other stream has the caches
  bool is_used_ = false;
  int window_ = 0;
};

}  // namespace ramet
