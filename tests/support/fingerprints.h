// The fingerprint of one batch.
#pragma once

#include <string>

#include "ramet/fingerprint.h"
#include "ramet/sampler.h"

namespace ramet::test {

inline std::string fingerprint_of(const Graph& graph, const Minibatch& batch) {
  const SampledFrom one[] = {{&graph, &batch}};
  return fingerprint(one);
}

}  // namespace ramet::test
