// The contents of a store whose shapes are right: every byte of its arrays may be another. Opened,
// verified, sampled and gathered; what is found to be right must also sample.
#include <chrono>
#include <cstring>
#include <memory>

#include "input.h"
#include "ramet/fingerprint.h"
#include "ramet/loader.h"
#include "ramet/sampler.h"
#include "small_store.h"

using namespace ramet;
using namespace ramet::fuzz;

namespace {

void overwrite(StoreContents& contents, Input& input) {
  for (auto& [name, array] : contents.arrays) {
    const std::string_view bytes = input.text(static_cast<size_t>(array.bytes()));
    if (!bytes.empty()) std::memcpy(array.data, bytes.data(), bytes.size());
  }
}

// Any that are valid: -1 to 6 neighbors.
SampleOptions sample_options(Input& input, const Graph& graph) {
  const int kind = input.byte();
  SampleOptions options{.seed = 7};
  const bool labor = (kind & 1) != 0, replace = !labor && (kind & 2) != 0;
  if (labor) {
    options.method = Labor{.iterations = kind >> 1 & 3, .layer_dependent = (kind & 8) != 0};
  } else {
    options.method = Uniform{replace};
  }
  options.dependent = 1 + (kind >> 4 & 3);
  const int64_t first = input.byte() % 8, second = input.byte() % 8;
  const int64_t least = replace ? 0 : kAllNeighbors;
  options.fanouts.assign(graph.edge_types().size(),
                         {std::max(first - 1, least), std::max(second - 1, least)});
  return options;
}

void derive(const Graph& graph, const Minibatch& minibatch) {
  for (const Block& block : minibatch.blocks) {
    for (const Relation& relation : block.relations) {
      static_cast<void>(edge_ids(graph, relation));
      static_cast<void>(edge_index(relation));
      static_cast<void>(edge_weights(relation));
    }
  }
  const SampledFrom one[] = {{&graph, &minibatch}};
  static_cast<void>(fingerprint(one));
}

void run_epoch(const std::shared_ptr<const Graph>& graph, const SampleOptions& sample) {
  LoaderOptions options;
  options.sample = sample;
  const int paper = graph->node_type("paper");
  options.inputs = {{paper, graph->splits().at("train").at("paper"), {}}};
  options.batch_size = 3;
  options.shuffle = true;
  options.threads = 1;
  for (const auto& [name, table] : graph->node_types()[size_t(paper)].tables)
    options.tables.push_back({paper, name, name == "label"});
  const NeighborLoader loader(graph, options);
  const auto stream = loader.start(0);
  while (const auto batch = stream->next(std::chrono::minutes(10)))
    derive(*graph, batch->minibatch);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const StoreContents whole = small_contents(), part = part_contents();
  Input input(data, size);
  const bool of_part = input.byte() % 2 != 0;
  StoreContents contents = of_part ? part : whole;
  for (auto& [name, array] : contents.arrays)
    array = own(array);
  Input options_input(data, size);
  static_cast<void>(options_input.byte());
  static_cast<void>(input.text(3));
  overwrite(contents, input);

  std::shared_ptr<const Graph> graph;
  if (!succeeds([&] { graph = Graph::from_store(make_segment(contents)); })) return 0;
  const SampleOptions options = sample_options(options_input, *graph);
  const bool valid = succeeds([&] { validate(*graph, 1); });
  const bool sampled = succeeds([&] { run_epoch(graph, options); });
  require(sampled || !valid || of_part);
  return 0;
}
