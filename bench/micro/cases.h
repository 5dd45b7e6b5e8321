// Cases of the micro benchmarks. A case is one piece of work that several variants do; its rate is
// items or bytes per second, the same amount for every variant, and bench/micro.py divides rates.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "ramet/graph.h"

namespace ramet::bench {

struct NamedGraph {
  std::string name;
  std::shared_ptr<const Graph> graph;
};

struct Options {
  bool small = false;  // sizes that show whether it works
  std::vector<NamedGraph> graphs;
};

// Registers a variant of a case. Time is that of the clock, not of the processor.
template <typename Body>
benchmark::internal::Benchmark* add(const std::string& name,
                                    const std::string& variant,
                                    Body body) {
  return benchmark::RegisterBenchmark((name + "|" + variant).c_str(), body)->UseRealTime();
}

// One per file.
void add_aggregate(const Options& options);
void add_csc(const Options& options);
void add_gather(const Options& options);
void add_sampler(const Options& options);
void add_update(const Options& options);

}  // namespace ramet::bench
