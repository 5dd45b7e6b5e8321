#include <string>

#include "ramet/error.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

constexpr size_t kMaxHops = 256;  // far more than models have layers; each costs memory by itself

[[noreturn]] void invalid(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void check_sampler(const SampleOptions& options) {
  const bool labor = options.sampler == Sampler::kLabor;
  if (labor && options.replace)
    invalid("replace=True with sampler='labor', which accepts each neighbor at most once");
  if (options.importance_iterations < 0 ||
      options.importance_iterations > kMaxImportanceIterations) {
    invalid("importance_iterations is " + std::to_string(options.importance_iterations) +
            ", expected 0 to " + std::to_string(kMaxImportanceIterations));
  }
  if (!labor && options.importance_iterations > 0) {
    invalid("importance_iterations is " + std::to_string(options.importance_iterations) +
            " with sampler='uniform', which has none; sampler='labor' has");
  }
  if (!labor && options.layer_dependent)
    invalid("layer_dependent=True with sampler='uniform'; only sampler='labor' has such a variant");
  if (!labor && options.weights == Weights::kHorvitzThompson) {
    invalid(
        "weights='horvitz-thompson' with sampler='uniform', whose normalized weights are the "
        "same; only sampler='labor' has others");
  }
}

}  // namespace

Sampler parse_sampler(const std::string& name) {
  if (name == "uniform") return Sampler::kUniform;
  if (name == "labor") return Sampler::kLabor;
  invalid("sampler is '" + name + "', expected 'uniform' or 'labor'");
}

Weights parse_weights(const std::string& name) {
  if (name == "normalized") return Weights::kNormalized;
  if (name == "horvitz-thompson") return Weights::kHorvitzThompson;
  invalid("weights is '" + name + "', expected 'normalized' or 'horvitz-thompson'");
}

void check(const SampleOptions& options, const Graph& graph) {
  check_sampler(options);
  if (options.dependent < 1) {
    invalid("dependent is " + std::to_string(options.dependent) + ", expected at least 1");
  }
  const auto& types = graph.edge_types();
  if (types.empty()) invalid("the graph has no edge types to sample from");
  if (options.fanouts.size() != types.size()) {
    invalid("fanouts name " + std::to_string(options.fanouts.size()) +
            " edge types, but the graph has " + std::to_string(types.size()));
  }
  const size_t num_hops = options.fanouts.front().size();
  if (num_hops == 0) invalid("num_neighbors is empty, expected a fanout for at least one hop");
  if (num_hops > kMaxHops) {
    invalid("num_neighbors has " + std::to_string(num_hops) + " hops, expected at most " +
            std::to_string(kMaxHops));
  }
  for (size_t t = 0; t < types.size(); ++t) {
    const auto& fanouts = options.fanouts[t];
    if (fanouts.size() != num_hops) {
      invalid("num_neighbors of edge type '" + types[t].encoded + "' has " +
              std::to_string(fanouts.size()) + " hops, but that of '" + types[0].encoded +
              "' has " + std::to_string(num_hops));
    }
    for (size_t hop = 0; hop < num_hops; ++hop) {
      const std::string place = "num_neighbors[" + std::to_string(hop) + "] of edge type '" +
                                types[t].encoded + "' is " + std::to_string(fanouts[hop]);
      if (fanouts[hop] < kAllNeighbors) invalid(place + ", expected -1 (all), 0 (none) or more");
    }
  }
}

}  // namespace ramet
