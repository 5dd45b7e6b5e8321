// Graphs for tests of sampling on a device, and the comparison of its minibatches with the host's.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/fingerprint.h"
#include "ramet/random.h"
#include "ramet/sampler.h"
#include "support/graph_fixture.h"

namespace ramet::test {

inline const std::vector<int64_t> kSeeds{5, 7, 5, 299, 0, 100, 11, 7, 250, 3};

// Edges of which every tenth points to one of two hubs, every eleventh comes from one, some are
// self loops, and some stand twice. The last tenth of the nodes have no in-edges.
inline EdgeList uneven_edges(int64_t num_src, int64_t num_dst, int64_t num_edges, uint64_t key) {
  EdgeList edges = random_edges(num_src, num_dst, num_edges, key);
  for (size_t e = 0; e < edges.src.size(); ++e) {
    if (edges.dst[e] >= num_dst - num_dst / 10) edges.dst[e] /= 2;
    if (e % 10 == 0) edges.dst[e] = e % 20 == 0 ? 7 : 11;
    if (e % 11 == 0) edges.src[e] = 3;
    if (e % 13 == 0 && edges.src[e] < num_dst) edges.dst[e] = edges.src[e];
    if (e % 17 == 16)
      std::tie(edges.src[e], edges.dst[e]) = std::tuple(edges.src[e - 1], edges.dst[e - 1]);
  }
  return edges;
}

// A CSC of int32 or int64 ids, as `Id` says.
template <typename Id>
struct TypedCsc {
  Csc csc;
  std::vector<Id> ids;

  TypedCsc(const EdgeList& edges, int64_t num_src, int64_t num_dst)
      : csc(csc_of(edges, num_src, num_dst)) {
    with_ids(csc.indices, [&](auto stored) { ids.assign(stored.begin(), stored.end()); });
    csc.indices = borrow(ids);
  }
};

template <typename Id = int32_t>
std::shared_ptr<const Graph> uneven_graph(int64_t num_nodes, int64_t num_edges, uint64_t key) {
  const TypedCsc<Id> edges(uneven_edges(num_nodes, num_nodes, num_edges, key), num_nodes,
                           num_nodes);
  return graph_of(one_type(edges.csc, num_nodes));
}

// Every third edge weighs nothing, some rows are without any weight, and a few edges have most.
template <typename Weight>
std::vector<Weight> uneven_weights(const Csc& csc) {
  const auto indptr = csc.indptr.as<int64_t>();
  std::vector<Weight> weights;
  for (size_t v = 0; v + 1 < indptr.size(); ++v) {
    for (int64_t p = indptr[v]; p < indptr[v + 1]; ++p) {
      const auto word = mix64(static_cast<uint64_t>(p));
      const Weight some = static_cast<Weight>(word % 1000) + 1;
      weights.push_back(word % 3 == 0 || v % 7 == 2 ? 0 : word % 50 == 1 ? some * 1000000 : some);
    }
  }
  return weights;
}

template <typename Weight>
std::shared_ptr<const Graph> weighted_graph(int64_t num_nodes, int64_t num_edges, uint64_t key) {
  const Csc csc = csc_of(uneven_edges(num_nodes, num_nodes, num_edges, key), num_nodes, num_nodes);
  const std::vector<Weight> weights = uneven_weights<Weight>(csc);
  StoreContents contents = one_type(csc, num_nodes);
  contents.arrays.emplace_back("edge/node__to__node/w", borrow(weights));
  const std::vector<int64_t> times(static_cast<size_t>(num_edges));
  contents.arrays.emplace_back("edge/node__to__node/time", borrow(times));
  return graph_of(contents);
}

// Three node types, one of them without edges that point to it; ids of both widths, edge types
// without any edge, and one of a type to itself. Authors have times.
inline std::shared_ptr<const Graph> typed_graph(uint64_t key) {
  constexpr int64_t kAuthors = 200, kPapers = 300, kVenues = 9;
  const TypedCsc<int32_t> cites(uneven_edges(kPapers, kPapers, 3000, key), kPapers, kPapers);
  const TypedCsc<int64_t> writes(uneven_edges(kAuthors, kPapers, 2500, key + 1), kAuthors, kPapers);
  const TypedCsc<int32_t> written(uneven_edges(kPapers, kAuthors, 1500, key + 2), kPapers,
                                  kAuthors);
  const TypedCsc<int64_t> at(random_edges(kVenues, kPapers, 400, key + 3), kVenues, kPapers);
  const TypedCsc<int32_t> none({}, kVenues, kAuthors);
  StoreContents contents;
  contents.node_counts = {{"author", kAuthors}, {"paper", kPapers}, {"venue", kVenues}};
  std::vector<int64_t> times;
  for (int64_t i = 0; i < kAuthors; ++i)
    times.push_back(i * 37 % 100);
  contents.arrays.emplace_back("node/author/time", borrow(times));
  add_edges(contents, "author__writes__paper", writes.csc);
  add_edges(contents, "paper__cites__paper", cites.csc);
  add_edges(contents, "paper__rev_writes__author", written.csc);
  add_edges(contents, "venue__hosts__author", none.csc);
  add_edges(contents, "venue__publishes__paper", at.csc);
  return graph_of(contents);
}

inline void require_same(const Array& expected, const Array& given) {
  REQUIRE(given.device == kHost);
  REQUIRE(given.dtype == expected.dtype);
  REQUIRE(given.shape == expected.shape);
  REQUIRE((given.data == nullptr) == (expected.data == nullptr));
  if (expected.bytes() == 0) return;
  REQUIRE(std::memcmp(given.data, expected.data, static_cast<size_t>(expected.bytes())) == 0);
}

inline void require_same(const Relation& expected, const Relation& given) {
  REQUIRE(given.edge_type == expected.edge_type);
  require_same(expected.indptr, given.indptr);
  require_same(expected.position, given.position);
  require_same(expected.indices, given.indices);
  require_same(expected.edge_weight, given.edge_weight);
}

// All arrays, bit for bit.
inline void require_same(const Minibatch& expected, const Minibatch& given) {
  REQUIRE(given.seeds == expected.seeds);
  REQUIRE(given.num_seeds == expected.num_seeds);
  REQUIRE(given.merged == expected.merged);
  REQUIRE(given.blocks.size() == expected.blocks.size());
  for (size_t b = 0; b < expected.blocks.size(); ++b) {
    CAPTURE(b);
    const Block &one = expected.blocks[b], &other = given.blocks[b];
    REQUIRE(other.first_dst == one.first_dst);
    REQUIRE(other.num_dst == one.num_dst);
    REQUIRE(other.relations.size() == one.relations.size());
    for (size_t r = 0; r < one.relations.size(); ++r) {
      CAPTURE(r);
      require_same(one.relations[r], other.relations[r]);
    }
    REQUIRE(other.num_src == one.num_src);
  }
  REQUIRE(given.n_id.size() == expected.n_id.size());
  for (size_t t = 0; t < expected.n_id.size(); ++t)
    require_same(expected.n_id[t], given.n_id[t]);
  REQUIRE(given.trees.size() == expected.trees.size());
  for (size_t t = 0; t < expected.trees.size(); ++t)
    require_same(expected.trees[t], given.trees[t]);
  require_same(expected.seed_times, given.seed_times);
}

// Every other group of in-edges of each type.
inline CudaGraph::EdgeGroups some_groups(const Graph& graph) {
  CudaGraph::EdgeGroups groups;
  for (const EdgeType& edges : graph.edge_types()) {
    auto& of_type = groups.emplace_back();
    for (int64_t group = 0; group < edges.num_edges() / CudaGraph::kEdgeGroup; group += 2)
      of_type.push_back(group);
  }
  return groups;
}

// In place some in-edges have copies on the device.
inline std::shared_ptr<const CudaGraph> place(const std::shared_ptr<const Graph>& graph,
                                              Location topology) {
  const auto placed = CudaGraph::create(graph, 0, topology);
  if (topology != Location::kInPlace) return placed;
  return CudaGraph::with_copies(placed, [&] { return some_groups(*graph); });
}

// A sampler with a stream and a pool of its own.
class DeviceSampler {
 public:
  DeviceSampler(const std::shared_ptr<const Graph>& graph,
                const SampleOptions& options,
                Location topology = Location::kDevice,
                RowOrder order = RowOrder::kAsGiven)
      : pool_(DevicePool::create(0)->on(stream_.handle())),
        graph_(place(graph, topology)),
        sampler_(graph_, options, pool_, stream_.handle(), order) {}

  template <typename... Arguments>
  Minibatch sample(Arguments&&... arguments) {
    return sampler_.sample(std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] const CudaGraph& graph() const { return *graph_; }
  [[nodiscard]] BufferPool& pool() { return *pool_; }
  [[nodiscard]] CudaStreamHandle stream() const { return stream_.handle(); }

 private:
  CudaStream stream_{0};
  std::shared_ptr<BufferPool> pool_;
  std::shared_ptr<const CudaGraph> graph_;
  CudaSampler sampler_;
};

// How a device reads the topology.
struct Reading {
  Location topology;
  RowOrder order;
};
inline constexpr Reading kReadings[] = {{Location::kDevice, RowOrder::kAsGiven},
                                        {Location::kInPlace, RowOrder::kAuto},
                                        {Location::kInPlace, RowOrder::kSorted}};

// Some steps of both samplers, however the topology is read.
inline void check_against_host(const std::shared_ptr<const Graph>& graph,
                               const SampleOptions& options,
                               const std::vector<int64_t>& seeds,
                               int seed_type = 0,
                               uint64_t steps = 2) {
  NeighborSampler host(graph, options);
  for (const Reading& reading : kReadings) {
    CAPTURE(name(reading.order));
    DeviceSampler device(graph, options, reading.topology, reading.order);
    for (uint64_t step = 0; step < steps; ++step) {
      CAPTURE(step);
      const Minibatch expected = host.sample({seed_type, seeds}, 1, step);
      const Minibatch given = device.sample(Seeds{seed_type, seeds}, 1, step);
      REQUIRE(given.n_id.front().device == 0);
      require_same(expected, to_host(given));
    }
  }
}

}  // namespace ramet::test
