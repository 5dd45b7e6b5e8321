// Tally: what all streams of a loader add up to in this process. Thread-safe; a forked child counts
// from zero.
#pragma once

#include <algorithm>
#include <mutex>

#include "base/per_process.h"
#include "ramet/loader.h"

namespace ramet {

class Tally {
 public:
  // `first` says that the stream had handed out no batch before.
  void add_batch(const Batch& batch, int threads, bool first) {
    const BatchSize size = size_of(batch);
    const double wait = batch.timings.wait_seconds;
    const auto add = [&](LoaderSummary& sum) {
      ++sum.batches;
      sum.nodes += size.nodes;
      sum.edges += size.edges;
      sum.bytes += size.bytes;
      sum.table_bytes += size.table_bytes;
      sum.cache += batch.cache;
      sum.largest_batch_bytes = std::max(sum.largest_batch_bytes, size.bytes);
      sum.sample_seconds += batch.timings.sample_seconds;
      sum.gather_seconds += batch.timings.gather_seconds;
      sum.wait_seconds += wait;
      if (first) {
        sum.first_wait_seconds += wait;
        ++sum.streams;
      }
      sum.threads = threads;
    };
    change(add);
  }

  void add_use(double seconds) {
    change([&](LoaderSummary& sum) { sum.use_seconds += seconds; });
  }

  LoaderSummary get() {
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
