// What draw_negatives() (negatives.h) checks without a look at nodes and edges, on a device, too.
#pragma once

#include "ramet/negatives.h"

namespace ramet {

// Throws kInvalidArgument, and kOutOfRange for a candidate that is no node.
void check_negatives(const Pairs& pairs, const NegativeOptions& options);

}  // namespace ramet
