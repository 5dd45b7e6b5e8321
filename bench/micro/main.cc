// The micro benchmarks: ramet_micro [--small] [--graph=NAME=STORE ...] [--benchmark_...]
//
// bench/micro.py runs it and turns its JSON into tables of ratios.
#include <cstdio>
#include <string_view>

#include "cases.h"
#include "ramet/error.h"
#include "ramet/isa.h"

namespace {

using ramet::bench::NamedGraph;
using ramet::bench::Options;

constexpr std::string_view kGraph = "--graph=";

// False: the argument is not one of ours.
bool read(std::string_view argument, Options& options) {
  if (argument == "--small") {
    options.small = true;
    return true;
  }
  const size_t equals = argument.find('=', kGraph.size());
  if (argument.substr(0, kGraph.size()) != kGraph || equals == argument.npos) return false;
  NamedGraph named;
  named.name = argument.substr(kGraph.size(), equals - kGraph.size());
  const std::string path(argument.substr(equals + 1));
  named.graph = ramet::Graph::from_store(ramet::Store::open(path));
  options.graphs.push_back(std::move(named));
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);  // takes its own arguments away
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (read(argv[i], options)) continue;
    std::fprintf(stderr, "unknown argument: %s\n", argv[i]);
    return 2;
  }
  ramet::bench::add_aggregate(options);
  ramet::bench::add_csc(options);
  ramet::bench::add_gather(options);
  ramet::bench::add_sampler(options);
  ramet::bench::add_update(options);
  benchmark::AddCustomContext("isa", ramet::name(ramet::isa()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const ramet::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
