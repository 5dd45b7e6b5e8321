// The engine without Python: makes a graph in memory, and runs an epoch of mini-batches over it.
//
//     build/release/embed        (built by `make test-cpp`)
#include <chrono>
#include <cstdio>

#include "ramet/error.h"
#include "ramet/generate.h"
#include "ramet/graph.h"
#include "ramet/loader.h"

int main() try {
  const auto store = ramet::make_segment(
      ramet::generate_rmat({.scale = 14, .edge_factor = 12, .feature_width = 32}));
  const auto graph = ramet::Graph::from_store(store);  // or Store::open("folder")

  ramet::LoaderOptions options;
  options.sample = {.fanouts = {{10, 5}}, .seed = 7};  // by edge type; the seeds' hop first
  options.inputs.front().ids = graph->splits().at("train").at("node");
  options.batch_size = 512;
  options.shuffle = true;
  options.tables = {{.node_type = 0, .name = "feat"}};
  const ramet::NeighborLoader loader(graph, options);

  const auto epoch = loader.start(0);
  while (!epoch->done()) {
    const auto batch = epoch->next(std::chrono::seconds(10));
    if (!batch) continue;
    const ramet::Block& farthest = batch->minibatch.blocks.front();
    std::printf("batch %lld: %lld seeds, %lld nodes, features %s\n",
                static_cast<long long>(batch->step),
                static_cast<long long>(batch->minibatch.num_seeds),
                static_cast<long long>(farthest.num_src[0]), batch->tables[0].describe().c_str());
  }
} catch (const ramet::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
