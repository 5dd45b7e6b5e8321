// A loader of one rank, and its batches.
#pragma once

#include <vector>

#include "ramet/loader.h"
#include "support/streams.h"

namespace ramet::test {

inline LoaderOptions options_for(int threads, int rank = 0, int world = 1) {
  LoaderOptions options;
  options.sample = {{{4, 3}}, Uniform{}, 5};
  options.batch_size = 33;
  options.shuffle = true;
  options.threads = threads;
  options.rank = rank;
  options.world = world;
  options.tables = {{0, "feat", false}};
  return options;
}

inline std::vector<Batch> run_epoch(const NeighborLoader& loader,
                                    int64_t epoch,
                                    int64_t first_step = 0) {
  return rest_of(*loader.start(epoch, first_step));
}

}  // namespace ramet::test
