// StreamCache: a source of rows, and in front of it the rows that a CachePolicy keeps, for batches
// in order. Worth it where reading a row costs more than copying it: from a disk, or over a link.
//
// A batch is announced, begun and completed. Missing rows are on their way from begin() on. So
// several batches may be read at once, by as many threads: complete() waits for the batches before
// it only to copy rows. Which rows hit is up to the order of batches alone.
//
// Memory: the kept rows as they are handed out, and the policy's. Threads: one at a time calls
// announce() and begin(); reads may be completed or dropped by any. Forks: the source's rule.
// Failure: as the source. Once a read has failed or was dropped, is_intact() is false, and those
// that were begun after it throw kIo.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cache_policy.h"
#include "tables/row_source.h"

namespace ramet {

class StreamCache {
 public:
  // `source`: of rows in host memory. kInvalidArgument where they do not fit into memory.
  StreamCache(std::shared_ptr<const RowSource> source, std::unique_ptr<CachePolicy> policy);

  // How many batches may be announced after the one to begin next.
  [[nodiscard]] int window() const { return policy_->window(); }
  // The row ids of the next batch, int64 [n]: rows of the table. They must stay until it is begun.
  void announce(Array ids) { policy_->announce(std::move(ids)); }
  // Starts to read the batch that was announced first. The cache must outlive the read.
  [[nodiscard]] std::unique_ptr<RowRead> begin(const ReadContext& context);

  // Whether every read that was begun was completed.
  [[nodiscard]] bool is_intact() const;
  // Of the rows and the policy.
  [[nodiscard]] int64_t memory_bytes() const;

 private:
  class Read;

  void wait_for_turn(int64_t number);
  void pass_turn();
  // A read is gone, with its turn or without.
  void end(int64_t number, CacheUse use, bool is_complete);
  [[nodiscard]] CacheUse take_idle_use();

  std::shared_ptr<const RowSource> source_;
  std::unique_ptr<CachePolicy> policy_;
  Array rows_;  // by slot

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable turn_passed_;
  int64_t begun_ = 0, turn_ = 0;     // reads so far; the first that is not complete
  std::vector<CacheUse> idle_uses_;  // their memory is used again
  size_t num_uses_ = 0;              // idle, and with reads
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t first_failed_ = kNone;  // of all reads that failed or were dropped
};

using MakeStreamCache = std::function<std::unique_ptr<StreamCache>()>;

// Of the rows that were used last, at most `capacity` of `num_rows`.
[[nodiscard]] MakeStreamCache last_rows(std::shared_ptr<const RowSource> source,
                                        int64_t num_rows,
                                        int64_t capacity);
// Of the rows `held`, ids of the table, each from its first use on.
[[nodiscard]] MakeStreamCache static_rows(std::shared_ptr<const RowSource> source,
                                          int64_t num_rows,
                                          std::vector<int64_t> held);
// Of the rows whose next use is nearest, where so many batches are announced ahead. `uses`: roughly
// how often each row is used, by which those without a use in sight are kept; empty: all alike.
[[nodiscard]] MakeStreamCache next_rows(std::shared_ptr<const RowSource> source,
                                        int64_t num_rows,
                                        int64_t capacity,
                                        int window,
                                        std::span<const int64_t> uses);

}  // namespace ramet
