// What workers compute for a model's layers, ahead of the step: the means of fused tables over the
// first block, and transposed blocks.
#pragma once

#include <atomic>

#include "ramet/loader.h"

namespace ramet {

// Fills batch.means and batch.block_edges of a batch of the host as `parts` has it in its options,
// on at most `threads` threads. Once `stop` is set it returns early, and these are incomplete.
void work_for_layers(const LoaderParts& parts,
                     const std::atomic<bool>& stop,
                     int threads,
                     Batch& batch);

// The first block of those that are transposed ahead; the number of blocks for none.
[[nodiscard]] size_t first_transposed(const LoaderOptions& options, const Minibatch& minibatch);

// The nodes of a type whose rows the sources of the first block have, also those of other ranks. Of
// `minibatch` it reads ids on the host.
[[nodiscard]] Array first_sources(const Minibatch& minibatch, size_t node_type, BufferPool& pool);

// The part of it for one fused table. Of `batch` it reads the nodes and the first block, which lie
// on the host, as does the table.
void add_means(const LoaderParts& parts,
               size_t table,
               const std::atomic<bool>& stop,
               int threads,
               Batch& batch);

}  // namespace ramet
