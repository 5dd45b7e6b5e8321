// A learnable graph from a seed: planted communities, power-law degrees, noisy features. Everything
// is a function of (seed, node) or (seed, edge), so the result is the same for any thread count.
//
// Node v belongs to community v mod communities and has label community mod classes. Edge endpoints
// are drawn with weight rank^-(1 - 1/skew), which makes degrees a power law of exponent
// 1 + skew / (skew - 1) (Chung, Lu 2002); a share `homophily` of the edges stays inside a
// community. A feature row is its class's random +-1 vector times `signal`, plus noise of
// variance 1.
#pragma once

#include <cstdint>
#include <memory>

#include "ramet/array.h"
#include "ramet/store_writer.h"

namespace ramet {

struct PlantedOptions {
  int64_t num_nodes = 100'000;
  int64_t num_edges = 1'000'000;  // undirected draws; reverses are added, repeats dropped
  int64_t communities = 16;
  int64_t classes = 16;
  int64_t feature_width = 64;
  int skew = 3;  // 1: uniform degrees; 2, 3, 4: heavier tails
  double homophily = 0.7;
  double signal = 0.1;
  double train_fraction = 0.1, val_fraction = 0.05;  // the rest is "test"
  uint64_t seed = 0;
};

// The contents of a store, owning their memory. Throws kInvalidArgument naming a bad option.
[[nodiscard]] StoreContents generate_planted(const PlantedOptions& options, int threads = 0);

}  // namespace ramet
