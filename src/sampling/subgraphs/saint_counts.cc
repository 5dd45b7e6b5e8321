#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "ramet/induced.h"
#include "ramet/subgraphs.h"
#include "sampling/rows.h"

namespace ramet {
namespace {

constexpr uint64_t kEpoch = std::numeric_limits<uint64_t>::max();  // which no loop reaches

void count(uint32_t& counter) {
  std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
}

float at_least_one(uint32_t count) {
  return static_cast<float>(std::max(count, 1U));
}

}  // namespace

SaintCounts::SaintCounts(std::shared_ptr<const Graph> graph,
                         std::shared_ptr<const Subgraphs> subgraphs)
    : graph_(std::move(graph)),
      subgraphs_(std::move(subgraphs)),
      node_counts_(static_cast<size_t>(graph_->node_types().front().num_nodes)),
      edge_counts_(static_cast<size_t>(graph_->edge_types().front().num_edges())) {}

int64_t SaintCounts::add(int64_t number, int threads) {
  std::atomic<int64_t> num_nodes{0};
  parallel_for(number, 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t item = num_subgraphs_ + i;
      const std::vector<int64_t> nodes = subgraphs_->nodes({&item, 1}, kEpoch).front();
      const std::vector<int64_t> offsets = {0, std::ssize(nodes)};
      const NodeGroups group{nodes, offsets};
      const InducedEdges edges = induced_edges(*graph_, 0, group, group, EdgeOrder::kByDestination);
      for (const int64_t node : nodes)
        count(node_counts_[static_cast<size_t>(node)]);
      for (const int64_t position : edges.position.as<int64_t>())
        count(edge_counts_[static_cast<size_t>(position)]);
      num_nodes += std::ssize(nodes);
    }
  });
  num_subgraphs_ += number;
  return num_nodes_ += num_nodes;
}

Array SaintCounts::node_norm() const {
  const auto num_nodes = std::ssize(node_counts_);
  Array norm = BufferPool::shared()->allocate_array(DType::kFloat32, {num_nodes});
  const auto ratio = static_cast<double>(num_subgraphs_) / static_cast<double>(num_nodes);
  std::transform(node_counts_.begin(), node_counts_.end(), static_cast<float*>(norm.data),
                 [&](uint32_t count) { return static_cast<float>(ratio / std::max(count, 1U)); });
  return norm;
}

Array SaintCounts::edge_norm() const {
  Array norm = BufferPool::shared()->allocate_array(DType::kFloat32, {std::ssize(edge_counts_)});
  auto* const out = static_cast<float*>(norm.data);
  const EdgeType& edges = graph_->edge_types().front();
  const int64_t* const indptr = edges.indptr.as<int64_t>().data();
  for (size_t v = 0; v < node_counts_.size(); ++v) {
    const auto [begin, degree] = read_row(edges, indptr, static_cast<int64_t>(v));
    for (int64_t e = begin; e < begin + degree; ++e)
      out[e] = at_least_one(node_counts_[v]) / at_least_one(edge_counts_[static_cast<size_t>(e)]);
  }
  return norm;
}

}  // namespace ramet
