// Walks and negatives of a device against the CPU's, to the bit: docs/semantics.md, sections
// 22, 23.
#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "cuda/on_host.h"
#include "cuda/sampling_fixture.h"
#include "device/device_memory.h"
#include "ramet/negatives.h"
#include "ramet/walks.h"
#include "sampling/links/cuda_negatives.h"

namespace ramet::test {
namespace {

constexpr int64_t kWalkedNodes = 300, kWalkedEdges = 2800;

std::vector<int64_t> some_nodes(int64_t count) {
  std::vector<int64_t> nodes;
  for (int64_t i = 0; i < count; ++i)
    nodes.push_back(static_cast<int64_t>(mix64(static_cast<uint64_t>(i)) % kWalkedNodes));
  return nodes;
}

// On device 0.
Array there(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  const auto bytes = std::ssize(values) * int64_t{sizeof(int64_t)};
  const auto copy = copy_on(0, values.data(), bytes);
  return {copy.get(), DType::kInt64, std::move(shape), copy, true, 0};
}

TEST_CASE_TEMPLATE("walks of a device are the CPU's", Id, int32_t, int64_t) {
  const auto graph = uneven_graph<Id>(kWalkedNodes, kWalkedEdges, 12);
  const std::vector<WalkEdges> path{{.graph = graph}};
  const std::vector<int64_t> starts = some_nodes(400);
  const int64_t count = std::ssize(starts), length = 7;
  std::map<int64_t, int64_t> seen;
  std::vector<int64_t> numbers;
  for (const int64_t start : starts)
    numbers.push_back(seen[start]++);
  const CudaStream stream(0);
  for (const WalkOptions& options :
       {WalkOptions{.length = length, .restart = 0.2, .stop = 0.05},
        WalkOptions{.length = length, .node2vec = Node2Vec{0.25, 4}}}) {
    WalkOptions with_ids = options;
    with_ids.edge_ids = true;
    const Walks wanted = random_walks(path, starts, with_ids);
    const std::vector<int64_t> empty(static_cast<size_t>(count * (length + 1)), 7);
    const Walks found{there({count, length + 1}, empty), there({count, length}, empty)};
    random_walks_on_device(path, there({count}, starts), there({count}, numbers), with_ids, found,
                           stream.handle());
    CHECK(values_of<int64_t>(found.nodes) == values_of<int64_t>(wanted.nodes));
    CHECK(values_of<int64_t>(found.edge_ids) == values_of<int64_t>(wanted.edge_ids));
  }
}

TEST_CASE_TEMPLATE("negatives of a device are the CPU's", Id, int32_t, int64_t) {
  const auto graph = uneven_graph<Id>(kWalkedNodes, kWalkedEdges, 12);
  const std::vector<int64_t> sources = some_nodes(500), ids(sources.rbegin(), sources.rend());
  const Pairs pairs{.sources = sources, .destinations = ids, .ids = ids};
  const CudaStream stream(0);
  const auto pool = DevicePool::shared(0)->on(stream.handle()), pinned = create_pinned_pool();
  const std::vector<int64_t> few{3, 7, 11};
  for (const Corrupt corrupt : {Corrupt::kDestination, Corrupt::kBoth, Corrupt::kPair}) {
    NegativeOptions options{.amount = 4,
                            .corrupt = corrupt,
                            .destinations = {.num_nodes = kWalkedNodes},
                            .sources = {.num_nodes = kWalkedNodes},
                            .edges = {{.graph = graph}},
                            .loops = false,
                            .when_none = WhenNone::kDrop};
    const CudaNegatives there(options, 0);
    for (const bool among_few : {false, true}) {
      if (among_few) options.sources.among = options.destinations.among = borrow(few);
      const Array wanted = draw_negatives(pairs, options);
      const Array found = there.draw(pairs, options, pool, *pinned, stream.handle());
      CHECK(values_of<int64_t>(found) == values_of<int64_t>(wanted));
    }
  }
}

}  // namespace
}  // namespace ramet::test
