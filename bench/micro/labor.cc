// One hop of LABOR-0 over the destinations of a batch's last hop, fanout 10; in-edges of these per
// second, beside
//   scalar scan  the obvious way: a loop over each row that hashes every source and keeps the
//                accepted, which is what LABOR is without numbering the nodes it finds;
//   kappa 8      the same hop as a dependent minibatch: two hashes per source, and three normals
//   for
//                those that these may accept;
//   read         every source is read once: what the memory takes.
#include <numeric>

#include "cases.h"
#include "ramet/random.h"
#include "ramet/sampler.h"

namespace ramet::bench {
namespace {

constexpr int64_t kFanout = 10;
constexpr int64_t kSeeds = 1024;

class Hop {
 public:
  explicit Hop(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
    std::vector<int64_t> seeds;
    const auto num_nodes = static_cast<uint64_t>(graph_->node_types()[0].num_nodes);
    for (uint64_t i = 0; i < kSeeds; ++i)
      seeds.push_back(static_cast<int64_t>(uniform_below(mix64(i), num_nodes)));
    const Minibatch batch = sampler({kFanout, kFanout}).sample({0, seeds}, 0, 0);
    const auto nodes = batch.n_id[0].as<int64_t>();
    destinations_.assign(nodes.begin(), nodes.end());
    const auto indptr = edges().indptr.as<int64_t>();
    for (const int64_t node : destinations_)
      num_edges_ += indptr[static_cast<size_t>(node) + 1] - indptr[static_cast<size_t>(node)];
  }

  [[nodiscard]] NeighborSampler sampler(std::vector<int64_t> fanouts, int64_t dependent = 1) const {
    return {graph_, {.fanouts = {std::move(fanouts)}, .method = Labor{}, .dependent = dependent}};
  }
  [[nodiscard]] const std::vector<int64_t>& destinations() const { return destinations_; }
  [[nodiscard]] int64_t num_edges() const { return num_edges_; }

  // Calls body(sources of the row, its first position) for every destination.
  template <typename Body>
  void for_each_row(Body&& body) const {
    const auto indptr = edges().indptr.as<int64_t>();
    with_ids(edges().indices, [&](auto indices) {
      for (const int64_t node : destinations_) {
        const auto begin = static_cast<size_t>(indptr[static_cast<size_t>(node)]);
        const auto end = static_cast<size_t>(indptr[static_cast<size_t>(node) + 1]);
        body(indices.subspan(begin, end - begin), begin);
      }
    });
  }

 private:
  [[nodiscard]] const EdgeType& edges() const { return graph_->edge_types()[0]; }

  std::shared_ptr<const Graph> graph_;
  std::vector<int64_t> destinations_;
  int64_t num_edges_ = 0;
};

void sample(benchmark::State& state, const Hop& hop, int64_t dependent) {
  NeighborSampler sampler = hop.sampler({kFanout}, dependent);
  uint64_t step = 1;
  for (auto _ : state)
    benchmark::DoNotOptimize(sampler.sample({0, hop.destinations()}, 0, step));
  state.SetItemsProcessed(state.iterations() * hop.num_edges());
}

void scan(benchmark::State& state, const Hop& hop) {
  std::vector<int64_t> positions, sources;
  uint64_t key = 1;
  for (auto _ : state) {
    positions.clear();
    sources.clear();
    key = mix64(key);
    hop.for_each_row([&](auto row, size_t first) {
      const bool all = row.size() <= kFanout;
      const uint64_t threshold =
          all ? ~uint64_t{0} : static_cast<uint64_t>((uint128_t{kFanout} << 64) / row.size());
      for (size_t e = 0; e < row.size(); ++e) {
        if (absorb(key, static_cast<uint64_t>(row[e])) > threshold) continue;
        positions.push_back(static_cast<int64_t>(first + e));
        sources.push_back(row[e]);
      }
    });
    benchmark::DoNotOptimize(positions.data());
  }
  state.SetItemsProcessed(state.iterations() * hop.num_edges());
}

void read(benchmark::State& state, const Hop& hop) {
  for (auto _ : state) {
    int64_t sum = 0;
    hop.for_each_row([&](auto row, size_t) { sum = std::accumulate(row.begin(), row.end(), sum); });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * hop.num_edges());
}

}  // namespace

void add_labor(const Options& options) {
  for (const NamedGraph& named : options.graphs) {
    const auto hop = std::make_shared<Hop>(named.graph);
    const std::string name = "labor/" + named.name;
    const auto with = [&](const std::string& variant, auto body) {
      add(name, variant, [=](benchmark::State& state) {
        body(state, *hop);
      })->MinTime(options.small ? 0.01 : 0.3);
    };
    with("ramet", [](auto& state, const Hop& of) { sample(state, of, 1); });
    with("ramet, kappa 8", [](auto& state, const Hop& of) { sample(state, of, 8); });
    with("scalar scan", scan);
    with("read", read);
  }
}

}  // namespace ramet::bench
