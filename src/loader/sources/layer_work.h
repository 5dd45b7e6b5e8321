// What workers compute for a model's layers, ahead of the step: the means of fused tables over the
// first block, and transposed blocks. Batches of the host alone.
#pragma once

#include <atomic>

#include "ramet/loader.h"

namespace ramet {

// Fills batch.means and batch.block_edges as `parts` has it in its options, on at most `threads`
// threads. Once `stop` is set it returns early, and these are incomplete.
void work_for_layers(const LoaderParts& parts,
                     const std::atomic<bool>& stop,
                     int threads,
                     Batch& batch);

}  // namespace ramet
