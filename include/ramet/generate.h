// Graphs from a seed. Everything is a function of (seed, node) or (seed, edge), so the result does
// not depend on threads, nor on how many are asked for at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ramet/array.h"
#include "ramet/store_writer.h"

namespace ramet {

// Planted communities: a learnable graph with power-law degrees and noisy features.
//
// Node v belongs to community v mod communities and to class community mod classes. Edge endpoints
// are drawn with weight rank^-(1 - 1/skew), which makes degrees a power law of exponent
// 1 + skew / (skew - 1) (Chung, Lu 2002); a share `homophily` of the edges stays inside a
// community. A feature row is its class's random +-1 vector times `signal`, plus noise of
// variance 1.
struct PlantedOptions {
  int64_t num_nodes = 100'000;
  int64_t num_edges = 1'000'000;  // draws
  bool undirected = true;         // add reverses and drop repeats; else draw sources evenly
  int64_t communities = 16;
  int64_t classes = 16;
  int64_t feature_width = 64;
  int skew = 3;  // 1: uniform degrees; 2, 3, 4: heavier tails
  double homophily = 0.7;
  double signal = 0.1;
  double train_fraction = 0.1, val_fraction = 0.05;
  double labeled = 1;  // the share of nodes with a label; those not in "train" or "val" are "test"
  uint64_t seed = 0;
};

// All throw kInvalidArgument naming a bad option.
void check(const PlantedOptions& options);

// The draws from number `first` on, as many as the spans hold: both of one length.
void planted_edges(const PlantedOptions& options,
                   int64_t first,
                   std::span<int32_t> src,
                   std::span<int32_t> dst,
                   int threads = 0);

// The feature rows from node `first` on, as many as `out` holds.
void planted_features(const PlantedOptions& options,
                      int64_t first,
                      std::span<float> out,
                      int threads = 0);

// The labels and splits from node `first` on: -1 is no label; 0, 1, 2, 3 are "train", "val", "test"
// and none. Both spans have one length.
void planted_labels(const PlantedOptions& options,
                    int64_t first,
                    std::span<int64_t> labels,
                    std::span<uint8_t> splits);

// R-MAT: every edge falls through `scale` levels of a 2^scale x 2^scale adjacency matrix, into one
// of four quadrants at each, with probabilities a, b, c and the rest (Chakrabarti, Zhan, Faloutsos:
// "R-MAT: A recursive model for graph mining", SDM 2004). The defaults are those of Graph500. A
// keyed permutation scrambles the ids, so that they do not reveal degrees. At a large scale most
// ids have no edge, and some have a hundred thousand.
struct RmatOptions {
  int scale = 16;            // 2^scale nodes
  int64_t edge_factor = 16;  // 2^scale x edge_factor draws; reverses are added, repeats dropped
  double a = 0.57, b = 0.19, c = 0.19;  // source's half, then destination's: 00, 01, 10
  int64_t feature_width = 0;            // columns of noise of variance 1; 0: no features
  double train_fraction = 0.1;          // of the nodes that have neighbors
  uint64_t seed = 0;
};

// Topology, the split "train" and, if asked for, "feat". Throws kInvalidArgument naming a bad
// option.
[[nodiscard]] StoreContents generate_rmat(const RmatOptions& options, int threads = 0);

// The rows of "feat" from `first_row` on, as many as `out` holds: equal to those of the whole
// table, for tables larger than memory.
void rmat_features(const RmatOptions& options,
                   int64_t first_row,
                   std::span<float> out,
                   int threads = 0);

}  // namespace ramet
