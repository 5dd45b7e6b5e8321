// LookAheadCache: announcing and serving batches, without any rows, beside a gather of the same
// rows of 512 bytes from memory. Batches of 1024 seeds, over and over; a cache of a tenth of all
// rows that knows 16 batches. Rows of batches per second.
#include "tables/cache/look_ahead_cache.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/permutation.h"
#include "cases.h"
#include "memory.h"
#include "ramet/sampler.h"
#include "ramet/table.h"

namespace ramet::bench {
namespace {

constexpr int64_t kBatch = 1024;
constexpr int kBatches = 40;
constexpr int kWindow = 16;
constexpr int64_t kShare = 10;  // one of so many rows is in the cache
constexpr int64_t kRowBytes = 512;

std::vector<uint8_t> classes_of(const Graph& graph) {
  std::vector<int64_t> degrees(static_cast<size_t>(graph.node_types()[0].num_nodes));
  with_ids(graph.edge_types()[0].indices, [&](auto sources) {
    for (const auto source : sources)
      ++degrees[static_cast<size_t>(source)];
  });
  return use_classes(degrees);
}

// What the variants of a case share.
class Case {
 public:
  explicit Case(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}

  [[nodiscard]] int64_t num_rows() const { return graph_->node_types()[0].num_nodes; }

  const std::vector<Array>& batches() {
    if (!batches_.empty()) return batches_;
    NeighborSampler sampler(graph_, {.fanouts = {{15, 10, 5}}, .seed = 1});
    const Permutation order(num_rows(), 1);
    for (int step = 0; step < kBatches; ++step) {
      std::vector<int64_t> seeds;
      for (int64_t i = step * kBatch; i < (step + 1) * kBatch; ++i)
        seeds.push_back(order(i % num_rows()));
      batches_.push_back(sampler.sample({0, seeds}, 0, static_cast<uint64_t>(step)).n_id[0]);
    }
    return batches_;
  }

  [[nodiscard]] int64_t most_rows() {
    int64_t most = 0;
    for (const Array& batch : batches())
      most = std::max(most, batch.rows());
    return most;
  }

  const std::vector<uint8_t>& classes() {
    if (classes_.empty()) classes_ = classes_of(*graph_);
    return classes_;
  }

 private:
  std::shared_ptr<const Graph> graph_;
  std::vector<uint8_t> classes_;
  std::vector<Array> batches_;
};

void announce_and_serve(benchmark::State& state, Case& shared) {
  const std::vector<Array>& batches = shared.batches();
  LookAheadCache cache(shared.num_rows() / kShare, shared.num_rows(), kWindow, shared.classes());
  CacheUse use;
  size_t announced = 0, served = 0;
  const auto announce = [&] { cache.announce(batches[announced++ % batches.size()]); };
  const auto serve = [&] {
    cache.serve(use);
    return batches[served++ % batches.size()].rows();
  };
  while (announced < kWindow)
    announce();
  while (served < batches.size()) {
    announce();
    serve();
  }
  int64_t rows = 0, missing = 0;
  for (auto _ : state) {
    announce();
    rows += serve();
    missing += std::ssize(use.missing);
  }
  state.SetItemsProcessed(rows);
  state.counters["hits"] = 1 - static_cast<double>(missing) / static_cast<double>(rows);
  state.counters["bytes"] = static_cast<double>(cache.memory_bytes());
}

void gather(benchmark::State& state, Case& shared) {
  const std::vector<Array>& batches = shared.batches();
  const HugeBuffer rows_memory(static_cast<size_t>(shared.num_rows() * kRowBytes));
  const HugeBuffer out(static_cast<size_t>(shared.most_rows() * kRowBytes));
  const Table table(
      Array{rows_memory.as(), DType::kUInt8, {shared.num_rows(), kRowBytes}, nullptr, false});
  int64_t rows = 0;
  size_t batch = 0;
  for (auto _ : state) {
    const Array& ids = batches[batch++ % batches.size()];
    table.gather(ids.as<int64_t>(), out.as(), 1);
    rows += ids.rows();
  }
  state.SetItemsProcessed(rows);
}

}  // namespace

void add_cache(const Options& options) {
  for (const NamedGraph& named : options.graphs) {
    const auto shared = std::make_shared<Case>(named.graph);
    const std::string name = "cache/" + named.name + ", 512 B";
    const auto variant = [&](const std::string& called, auto body) {
      add(name, called, [=](benchmark::State& state) {
        body(state, *shared);
      })->MinTime(options.small ? 0.01 : 0.5);
    };
    variant("ramet", announce_and_serve);
    variant("gather", gather);
  }
}

}  // namespace ramet::bench
