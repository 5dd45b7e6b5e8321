// NeighborSampler, one per thread, each with batches of its own, beside the replay of the same
// batches' loads (replay.h), and beside the same with two in-edges of each seed excluded. Eight
// batches of 1024 seeds, over and over; edges per second.
#include <algorithm>
#include <mutex>

#include "base/permutation.h"
#include "cases.h"
#include "replay.h"

namespace ramet::bench {
namespace {

constexpr int64_t kBatch = 1024;
constexpr int kBatches = 8;
constexpr uint64_t kSeed = 1;

// What the variants of a case share: seeds, and the batches' recordings.
class Case {
 public:
  Case(std::shared_ptr<const Graph> graph, std::vector<int64_t> fanouts)
      : graph_(std::move(graph)), options_{.fanouts = {std::move(fanouts)}, .seed = kSeed} {}

  [[nodiscard]] NeighborSampler sampler() const { return {graph_, options_}; }

  // The training seeds, or any nodes, in random order.
  [[nodiscard]] std::vector<int64_t> seeds(int step) const {
    const auto split = graph_->splits().find("train");
    const Array* ids = split == graph_->splits().end() ? nullptr : &split->second.begin()->second;
    const int64_t count = ids != nullptr ? ids->rows() : graph_->node_types()[0].num_nodes;
    const Permutation order(count, kSeed);
    std::vector<int64_t> result;
    for (int64_t i = step * kBatch; i < (step + 1) * kBatch; ++i) {
      const int64_t at = order(i % count);
      result.push_back(ids == nullptr ? at : with_ids(*ids, [&](auto values) -> int64_t {
        return values[static_cast<size_t>(at)];
      }));
    }
    return result;
  }

  // Of each seed up to two in-edges.
  [[nodiscard]] std::vector<int64_t> excluded(int step) const {
    const auto indptr = graph_->edge_types()[0].indptr.as<int64_t>();
    std::vector<int64_t> result;
    for (const int64_t seed : seeds(step)) {
      const auto row = static_cast<size_t>(seed);
      for (int64_t p = indptr[row]; p < std::min(indptr[row] + 2, indptr[row + 1]); ++p)
        result.push_back(p);
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  [[nodiscard]] const std::vector<Replay>& replays() {
    const std::lock_guard lock(mutex_);
    if (!replays_.empty()) return replays_;
    NeighborSampler own = sampler();
    for (int step = 0; step < kBatches; ++step)
      replays_.emplace_back(*graph_, own.sample({0, seeds(step)}, 0, static_cast<uint64_t>(step)));
    const auto nodes = static_cast<size_t>(graph_->node_types()[0].num_nodes);
    slots_ = std::make_unique<HugeBuffer>(nodes * sizeof(uint32_t));
    return replays_;
  }
  [[nodiscard]] const uint32_t* slots() const { return slots_->as<uint32_t>(); }

 private:
  std::shared_ptr<const Graph> graph_;
  SampleOptions options_;
  std::mutex mutex_;
  std::vector<Replay> replays_;
  std::unique_ptr<HugeBuffer> slots_;
};

int64_t num_edges(const Minibatch& batch) {
  int64_t sum = 0;
  for (const Block& block : batch.blocks)
    sum += block.relations[0].indices.rows();
  return sum;
}

void sample(benchmark::State& state, const Case& shared, bool excludes) {
  NeighborSampler sampler = shared.sampler();
  std::vector<std::vector<int64_t>> seeds, positions;
  for (int step = 0; step < kBatches; ++step) {
    seeds.push_back(shared.seeds(step));
    positions.push_back(shared.excluded(step));
  }
  int64_t edges = 0;
  int step = state.thread_index() * kBatches / 2;
  for (auto _ : state) {
    const auto at = static_cast<size_t>(step);
    const Seeds of_batch{0, seeds[at]};
    const ExcludedEdges excluded{0, positions[at]};
    edges += num_edges(sampler.sample({&of_batch, 1}, 0, at, nullptr,
                                      {&excluded, excludes ? size_t{1} : size_t{0}}));
    step = (step + 1) % kBatches;
  }
  state.SetItemsProcessed(edges);
}

void replay(benchmark::State& state, Case& shared) {
  const auto& replays = shared.replays();
  int64_t edges = 0;
  int step = state.thread_index() * kBatches / 2;
  for (auto _ : state) {
    const Replay& batch = replays[static_cast<size_t>(step)];
    benchmark::DoNotOptimize(batch.run(shared.slots()));
    edges += batch.num_edges();
    step = (step + 1) % kBatches;
  }
  state.SetItemsProcessed(edges);
}

}  // namespace

void add_sampler(const Options& options) {
  const std::vector<std::vector<int64_t>> fanouts{{15, 10, 5}, {10, 10, 10}};
  for (const NamedGraph& named : options.graphs) {
    for (const auto& fanout : fanouts) {
      const auto shared = std::make_shared<Case>(named.graph, fanout);
      std::string name = "sampler/" + named.name + " [";
      for (size_t i = 0; i < fanout.size(); ++i)
        name += (i == 0 ? "" : ", ") + std::to_string(fanout[i]);
      name += "]";
      const auto in_threads = [&](const std::string& variant, int threads, auto body) {
        const std::string suffix = threads == 1 ? "" : ", " + std::to_string(threads) + " threads";
        add(name, variant + suffix, [=](benchmark::State& state) { body(state, *shared); })
            ->Threads(threads)
            ->MinTime(options.small ? 0.01 : 0.3);
      };
      for (const int threads : {1, 2}) {
        in_threads("ramet", threads, [](auto& state, const Case& of) { sample(state, of, false); });
        in_threads("replay", threads, replay);
      }
      in_threads("ramet, edges excluded", 1,
                 [](auto& state, const Case& of) { sample(state, of, true); });
    }
  }
}

}  // namespace ramet::bench
