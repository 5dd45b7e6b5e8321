// PulledReads: of a stream, the rows of given tables that lie on several machines. The ranks pull
// them from each other, table by table. In front of rows of other machines may be a cache, so that
// only what it misses travels; rows that this rank reaches are read where they lie.
//
// One thread: that of the group. Every rank makes the same calls in the same order. Failure: of the
// exchange, and kCorrupt for what other ranks send.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "loader_parts.h"
#include "ramet/cooperative_loader.h"

namespace ramet {

class PulledReads {
 public:
  // Borrows the caches of `parts`.
  explicit PulledReads(std::shared_ptr<const LoaderParts> parts);
  PulledReads(const PulledReads&) = delete;
  PulledReads& operator=(const PulledReads&) = delete;
  ~PulledReads();

  // How many batches after the one to be pulled next may be announced.
  [[nodiscard]] int window() const { return window_; }
  // The next sampled batch.
  void announce(const Batch& batch);
  // Pulls the rows of the batch that was announced first into its tables, and sends what other
  // ranks ask for. nullptr: asks for nothing.
  void pull(Batch* batch, const Exchange& exchange);
  // Every batch was pulled. Gives the caches back.
  void finish();
  // The stream ends here. Gives the caches back, empty if it used them.
  void leave() noexcept;

 private:
  // Which rows of a batch are whose.
  struct Split {
    Array far, near;                       // places of rows on other machines, and of rows in reach
    std::vector<int64_t> far_at, near_at;  // their positions in the batch
  };

  [[nodiscard]] Split split(const Batch& batch, size_t table) const;
  [[nodiscard]] Array pull_through(StreamCache& cache,
                                   size_t table,
                                   const ReadContext& context,
                                   Batch& batch);

  std::shared_ptr<const LoaderParts> parts_;
  TableCaches::Caches caches_;
  bool has_caches_ = false, is_used_ = false;
  int window_;
  std::vector<std::deque<Split>> announced_;  // by table with a cache
};

}  // namespace ramet
