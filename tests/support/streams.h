// Waits for a loader's batches.
#pragma once

#include <vector>

#include "patience.h"
#include "ramet/loader.h"

namespace ramet::test {

inline std::vector<Batch> rest_of(EpochStream& stream) {
  std::vector<Batch> batches;
  while (auto batch = stream.next(kPatience))
    batches.push_back(std::move(*batch));
  return batches;
}

}  // namespace ramet::test
