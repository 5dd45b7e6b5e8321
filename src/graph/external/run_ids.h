// Ids of edges in runs. A run numbers its edges from 0 in 32 bits, and their reverses behind them;
// what these numbers mean is known once all edges are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace ramet {

// Of one run: edge i is edge `first` + i, and its reverse, `count` + i, has the id `reverse` +
// `count` + i.
struct RunIds {
  int64_t first = 0;
  int64_t count = std::numeric_limits<int64_t>::max();
  int64_t reverse = 0;

  [[nodiscard]] int64_t operator()(int64_t local) const {
    return local + (local < count ? first : reverse);
  }
};

// Of runs of as many edges each, but for the last.
struct EdgeNumbers {
  int64_t num_edges = 0;
  int64_t per_run = 0;  // 0: the ids in the runs are the edges' own

  [[nodiscard]] RunIds of_run(int64_t run) const {
    if (per_run == 0) return {};
    const int64_t first = run * per_run, count = std::min(per_run, num_edges - first);
    return {first, count, num_edges + first - count};
  }
};

}  // namespace ramet
