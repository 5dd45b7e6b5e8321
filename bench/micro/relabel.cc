// Numbering the nodes of a batch by first occurrence: ids per second, beside
//   unordered_map  the obvious way;
//   replay         a prefetched load per id from a table of 4 bytes per node: the memory alone.
// It is measured as users meet it, in the sampler: a hop that takes every neighbor of consecutive
// nodes reads all else in sequence, so numbering is what takes its time. A fifth of the ids are
// distinct or more, few of them often, as in a real hop.
#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>

#include "cases.h"
#include "memory.h"
#include "ramet/random.h"
#include "ramet/sampler.h"
#include "ramet/store_writer.h"

namespace ramet::bench {
namespace {

constexpr int64_t kDegree = 16;

struct Stream {
  std::vector<int32_t> ids;
  std::vector<int64_t> seeds;
  std::shared_ptr<const Graph> graph;  // whose first rows are the stream
  HugeBuffer slots;

  Stream(int64_t num_nodes, int64_t count);
};

Stream::Stream(int64_t num_nodes, int64_t count)
    : ids(static_cast<size_t>(count)),
      seeds(static_cast<size_t>(count / kDegree)),
      slots(static_cast<size_t>(num_nodes) * sizeof(uint32_t)) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto bound = static_cast<uint64_t>(num_nodes);
    const uint64_t skewed = uniform_below(mix64(2 * i), 1 + uniform_below(mix64(2 * i + 1), bound));
    ids[i] = static_cast<int32_t>(mix64(skewed) % bound);
  }
  std::iota(seeds.begin(), seeds.end(), 0);
  std::vector<int64_t> indptr(static_cast<size_t>(num_nodes) + 1);
  for (size_t v = 0; v < indptr.size(); ++v)
    indptr[v] = std::min(static_cast<int64_t>(v) * kDegree, count);
  StoreContents contents;
  contents.node_counts["node"] = num_nodes;
  contents.arrays = {
      {"edge/node__to__node/indptr", borrow(std::span<const int64_t>(indptr))},
      {"edge/node__to__node/indices", borrow(std::span<const int32_t>(ids))},
  };
  graph = Graph::from_store(make_segment(contents));
}

void number_in_sampler(benchmark::State& state, const Stream& stream) {
  NeighborSampler sampler(stream.graph, {.fanouts = {{kAllNeighbors}}});
  for (auto _ : state)
    benchmark::DoNotOptimize(sampler.sample({0, stream.seeds}, 0, 0));
}

void number_in_map(benchmark::State& state, const Stream& stream) {
  for (auto _ : state) {
    std::unordered_map<int32_t, int32_t> number_of;
    for (const int64_t seed : stream.seeds)
      number_of.try_emplace(static_cast<int32_t>(seed), static_cast<int32_t>(number_of.size()));
    std::vector<int32_t> local;
    for (const int32_t id : stream.ids)
      local.push_back(
          number_of.try_emplace(id, static_cast<int32_t>(number_of.size())).first->second);
    benchmark::DoNotOptimize(local.data());
  }
}

void load_slots(benchmark::State& state, const Stream& stream) {
  constexpr size_t kAhead = 32;
  const auto* slots = stream.slots.as<uint32_t>();
  for (auto _ : state) {
    uint64_t sum = 0;
    for (size_t i = 0; i < stream.ids.size(); ++i) {
      __builtin_prefetch(&slots[stream.ids[std::min(i + kAhead, stream.ids.size() - 1)]]);
      sum += slots[stream.ids[i]];
    }
    benchmark::DoNotOptimize(sum);
  }
}

}  // namespace

void add_relabel(const Options& options) {
  const int64_t num_nodes = int64_t{1} << (options.small ? 14 : 22);
  const int64_t count = num_nodes / 4;
  const auto shared = std::make_shared<std::unique_ptr<Stream>>();
  const auto variant = [&](const std::string& called, auto body) {
    add("relabel/" + std::to_string(count >> 10) + " Ki ids", called, [=](benchmark::State& state) {
      if (!*shared) *shared = std::make_unique<Stream>(num_nodes, count);
      body(state, **shared);
      state.SetItemsProcessed(state.iterations() * count);
    });
  };
  variant("ramet", number_in_sampler);
  variant("unordered_map", number_in_map);
  variant("replay", load_slots);
}

}  // namespace ramet::bench
