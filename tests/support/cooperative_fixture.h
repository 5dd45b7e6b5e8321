// Ranks that cooperate in one program: their messages are passed on in memory.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_memory.h"
#include "graph_fixture.h"
#include "ids.h"
#include "ramet/error.h"
#include "sampling/cooperative_sampler.h"

namespace ramet::test {

// ---- who owns what

using Owners = std::vector<Ownership>;

inline Owners by_ranges(const Graph& graph, int64_t ranks) {
  Owners owners;
  for (size_t t = 0; t < graph.node_types().size(); ++t) {
    const auto bounds = balanced_ranges(graph, static_cast<int>(t), ranks);
    owners.push_back(Ownership::ranges(borrow(bounds)));
  }
  return owners;
}

inline Owners by_hash(const Graph& graph, int64_t ranks) {
  Owners owners;
  for (const NodeType& type : graph.node_types())
    owners.push_back(Ownership::hashed(type.name, type.num_nodes, ranks));
  return owners;
}

inline Owners by_vector(const Graph& graph,
                        int64_t ranks,
                        const std::function<int64_t(int64_t)>& owner) {
  Owners owners;
  for (const NodeType& type : graph.node_types()) {
    Array vector = BufferPool::create()->allocate_array(DType::kUInt8, {type.num_nodes});
    for (int64_t v = 0; v < type.num_nodes; ++v)
      static_cast<uint8_t*>(vector.data)[v] = static_cast<uint8_t>(owner(v));
    owners.push_back(Ownership::by_vector(vector, ranks));
  }
  return owners;
}

// ---- a group

using Messages = std::vector<Message>;  // by rank

inline Array bytes_from(const std::string& bytes, int device = kHost) {
  const auto size = static_cast<int64_t>(bytes.size());
  Array array = BufferPool::create()->allocate_array(DType::kUInt8, {size});
  if (!bytes.empty()) std::memcpy(array.data, bytes.data(), bytes.size());
  if (device == kHost) return array;
  const std::shared_ptr<void> there = copy_on(device, bytes.data(), size);
  return {
      .data = there.get(), .dtype = array.dtype, .shape = {size}, .owner = there, .device = device};
}

inline std::string sent_bytes(const Array& array) {
  std::string bytes(static_cast<size_t>(array.bytes()), ' ');
  if (array.device != kHost)
    copy_to(array.device, bytes.data(), array.data, array.bytes());
  else if (!bytes.empty())
    std::memcpy(bytes.data(), array.data, bytes.size());
  return bytes;
}

// From what each rank sends to what each receives.
inline Messages deliver(const Messages& sent) {
  std::vector<std::string> data(sent.size());
  Messages arrived(sent.size());
  for (const Message& message : sent) {
    REQUIRE(message.bytes.size() == sent.size());
    const std::string all = sent_bytes(message.data);
    size_t at = 0;
    for (size_t to = 0; to < sent.size(); ++to) {
      const auto count = static_cast<size_t>(message.bytes[to]);
      data[to].append(all, at, count);
      at += count;
      arrived[to].bytes.push_back(message.bytes[to]);
    }
    REQUIRE(at == all.size());
  }
  for (size_t to = 0; to < sent.size(); ++to)
    arrived[to].data = bytes_from(data[to], sent[to].data.device);
  return arrived;
}

class Ranks {
 public:
  Ranks(std::shared_ptr<const Graph> graph,
        const SampleOptions& options,
        const Owners& owners,
        int threads = 1,
        const DrawingDevice& device = {})
      : owners_(owners) {
    for (int64_t rank = 0; rank < owners.front().parts(); ++rank)
      samplers_.push_back(std::make_unique<CooperativeSampler>(
          graph, options, Membership{owners, rank},
          device.graph == nullptr ? nullptr : create_pinned_pool(), threads, device));
  }

  [[nodiscard]] size_t size() const { return samplers_.size(); }
  CooperativeSampler& operator[](size_t rank) { return *samplers_[rank]; }

  // The seeds that `rank` owns, in order.
  [[nodiscard]] std::vector<int64_t> own(int seed_type,
                                         const std::vector<int64_t>& seeds,
                                         size_t rank) const {
    std::vector<int64_t> result;
    std::copy_if(seeds.begin(), seeds.end(), std::back_inserter(result), [&](int64_t seed) {
      return owners_[static_cast<size_t>(seed_type)].owner(seed) == static_cast<int64_t>(rank);
    });
    return result;
  }

  // What every rank sends first. Nothing without hops.
  Messages start(int seed_type,
                 const std::vector<int64_t>& seeds,
                 uint64_t epoch = 0,
                 uint64_t step = 0,
                 std::span<const ExcludedEdges> excluded = {}) {
    Messages sent;
    for (size_t rank = 0; rank < size(); ++rank) {
      const std::vector<int64_t> owned = own(seed_type, seeds, rank);
      const Seeds of_rank{seed_type, owned};
      auto first = samplers_[rank]->start(std::span(&of_rank, 1), epoch, step, excluded);
      if (first) sent.push_back(std::move(*first));
    }
    return sent;
  }

  // What every rank sends next, or nothing: then all of them are done.
  std::optional<Messages> receive(const Messages& arrived) {
    Messages sent;
    for (size_t rank = 0; rank < size(); ++rank) {
      auto next = samplers_[rank]->receive(arrived[rank]);
      if (next) sent.push_back(std::move(*next));
    }
    if (sent.empty()) return std::nullopt;
    REQUIRE(sent.size() == size());
    return sent;
  }

  std::vector<Minibatch> take() {
    std::vector<Minibatch> batches;
    for (const auto& sampler : samplers_)
      batches.push_back(sampler->take());
    return batches;
  }

  std::vector<Minibatch> sample(int seed_type,
                                const std::vector<int64_t>& seeds,
                                uint64_t epoch = 0,
                                uint64_t step = 0,
                                std::span<const ExcludedEdges> excluded = {}) {
    Messages sent = start(seed_type, seeds, epoch, step, excluded);
    while (!sent.empty())
      sent = receive(deliver(sent)).value_or(Messages{});
    return take();
  }

 private:
  Owners owners_;
  std::vector<std::unique_ptr<CooperativeSampler>> samplers_;
};

// ---- what was sampled

// The ids of a block's sources of one type.
inline std::vector<int64_t> sources(const Minibatch& batch, size_t block, size_t type) {
  const Block& of = batch.blocks[block];
  std::vector<int64_t> ids = numbers(batch.n_id[type]);
  if (of.exchange.empty() && batch.merged_exchange.empty()) {
    if (!batch.induced) ids.resize(static_cast<size_t>(of.num_src[type]));
    return ids;
  }
  if (!of.exchange.empty()) ids.resize(static_cast<size_t>(of.num_dst[type]));
  const auto& plans = batch.merged ? batch.merged_exchange : of.exchange;
  const auto pulled = numbers(plans[type].source_ids);
  ids.insert(ids.end(), pulled.begin(), pulled.end());
  return ids;
}

struct Edge {
  size_t block;
  int edge_type;
  int64_t dst, src, position;
  float weight;
  auto operator<=>(const Edge&) const = default;
};

// Every edge of the union, sorted.
inline std::vector<Edge> edges_of(const Graph& graph, const std::vector<Minibatch>& batches) {
  std::vector<Edge> edges;
  for (const Minibatch& batch : batches) {
    for (size_t b = 0; b < batch.blocks.size(); ++b) {
      for (const Relation& relation : batch.blocks[b].relations) {
        const EdgeType& type = graph.edge_types()[static_cast<size_t>(relation.edge_type)];
        const auto src = sources(batch, b, static_cast<size_t>(type.src));
        const auto dst = sources(batch, b, static_cast<size_t>(type.dst));
        const auto first =
            static_cast<size_t>(batch.blocks[b].first_dst[static_cast<size_t>(type.dst)]);
        const auto indptr = numbers(relation.indptr), local = numbers(relation.indices);
        const auto position = numbers(positions(relation));
        const Array weights = edge_weights(relation);
        for (size_t i = 0; i + 1 < indptr.size(); ++i) {
          for (auto e = static_cast<size_t>(indptr[i]); e < static_cast<size_t>(indptr[i + 1]); ++e)
            edges.push_back({b, relation.edge_type, dst.at(first + i),
                             src.at(static_cast<size_t>(local[e])), position[e],
                             weights.as<float>()[e]});
        }
      }
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a < b; });
  return edges;
}

}  // namespace ramet::test
