// Fingerprints of batches, and what samplers promise of slices of a batch.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ramet/fingerprint.h"
#include "ramet/sampler.h"

namespace ramet::test {

inline std::string fingerprint_of(const Graph& graph, const Minibatch& batch) {
  const SampledFrom one[] = {{&graph, &batch}};
  return fingerprint(one);
}

// docs/semantics.md, sections 1 and 7: the blocks of the parts together are those of the whole.
inline void check_slices_add_up(const std::shared_ptr<const Graph>& graph,
                                const SampleOptions& options,
                                const std::vector<int64_t>& seeds) {
  NeighborSampler sampler(graph, options);
  const Minibatch whole = sampler.sample({0, seeds}, 1, 2);
  for (const size_t cut : {size_t{0}, size_t{1}, seeds.size() / 3, seeds.size()}) {
    const Minibatch left = sampler.sample({0, std::span(seeds).first(cut)}, 1, 2);
    const Minibatch right = sampler.sample({0, std::span(seeds).subspan(cut)}, 1, 2);
    const SampledFrom both[] = {{graph.get(), &left}, {graph.get(), &right}};
    CHECK(fingerprint(both) == fingerprint_of(*graph, whole));
  }
}

}  // namespace ramet::test
