// LoaderStats: the LoaderSummary of a loader in this process, added up over all its streams.
// Thread-safe; a forked child counts from zero.
#pragma once

#include <algorithm>
#include <mutex>

#include "base/per_process.h"
#include "ramet/loader.h"

namespace ramet {

class LoaderStats {
 public:
  // `is_first`: the stream had handed out no batch before.
  void add_batch(const Batch& batch, int threads, bool is_first) {
    const BatchSize size = size_of(batch);
    const BatchTimings& timings = batch.timings;
    change([&](LoaderSummary& sum) {
      ++sum.batches;
      sum.nodes += size.nodes;
      sum.edges += size.edges;
      sum.bytes += size.bytes;
      sum.table_bytes += size.table_bytes;
      sum.largest_batch_bytes = std::max(sum.largest_batch_bytes, size.bytes);
      sum.cache += batch.cache;
      sum.read += batch.read;
      sum.sample_seconds += timings.sample_seconds;
      sum.gather_seconds += timings.gather_seconds;
      sum.read_seconds += timings.read_seconds;
      sum.wait_seconds += timings.wait_seconds;
      sum.core_wait_seconds += timings.core_wait_seconds;
      if (is_first) {
        sum.first_wait_seconds += timings.wait_seconds;
        ++sum.streams;
      }
      sum.threads = threads;
    });
  }

  void add_use(double seconds, double core_wait_seconds) {
    change([&](LoaderSummary& sum) {
      sum.use_seconds += seconds;
      sum.use_core_wait_seconds += core_wait_seconds;
    });
  }

  [[nodiscard]] LoaderSummary get() {
    LoaderSummary copy;
    change([&](const LoaderSummary& sum) { copy = sum; });
    return copy;
  }

 private:
  struct Guarded {
    std::mutex mutex;
    LoaderSummary sum;
  };

  template <typename Change>
  void change(const Change& apply) {
    Guarded& mine = sums_.get();
    const std::lock_guard lock(mine.mutex);
    apply(mine.sum);
  }

  PerProcess<Guarded> sums_;
};

}  // namespace ramet
