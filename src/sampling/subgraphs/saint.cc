// The nodes of GraphSAINT's subgraphs; docs/semantics.md, section 26.
#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"
#include "ramet/subgraphs.h"
#include "sampling/walks/walk_rows.h"
#include "sampling/weights.h"

namespace ramet {
namespace {

// By the squared norm of a node's column of the normalized adjacency matrix: the sum of
// 1 / in-degree^2 over the destinations of its edges. Of them running sums are kept, which a draw
// bisects.
class NodeDraws {
 public:
  explicit NodeDraws(const WalkEdges& incoming) {
    const WalkRows rows(incoming);
    sums_.resize(static_cast<size_t>(rows.num_ends()));
    for (int64_t v = 0; v < rows.num_rows(); ++v) {
      const auto [begin, degree] = rows.row(v);
      const double share = 1 / (static_cast<double>(degree) * static_cast<double>(degree));
      for (int64_t position = begin; position < begin + degree; ++position)
        sums_[static_cast<size_t>(rows.end_of(position))] += share;
    }
    double sum = 0;
    for (double& of_node : sums_)
      of_node = sum += of_node;
  }

  void add(uint64_t key, int64_t count, std::vector<int64_t>& nodes) const {
    for (int64_t i = 0; i < count; ++i)
      nodes.push_back(drawn(absorb(key, static_cast<uint64_t>(i))));
  }

 private:
  [[nodiscard]] int64_t drawn(uint64_t word) const {
    const double sum = sums_.back();
    auto found = std::upper_bound(sums_.begin(), sums_.end(), fraction_of(word) * sum);
    if (found == sums_.end()) found = std::lower_bound(sums_.begin(), sums_.end(), sum);
    return found - sums_.begin();
  }

  std::vector<double> sums_;
};

// By 1 / out-degree of the source + 1 / in-degree of the destination: either a node that has
// in-edges, all alike, and one of these, or a node that has out-edges, and one of those.
class EdgeDraws {
 public:
  EdgeDraws(const WalkEdges& incoming, const WalkEdges& outgoing)
      : sides_{Side(incoming), Side(outgoing)} {}

  void add(uint64_t key, int64_t count, std::vector<int64_t>& nodes) const {
    const auto num_incoming = static_cast<uint64_t>(std::ssize(sides_[0].nodes));
    const auto num_both = num_incoming + static_cast<uint64_t>(std::ssize(sides_[1].nodes));
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t of_edge = absorb(key, static_cast<uint64_t>(i));
      const uint64_t number = uniform_below(absorb(of_edge, 0), num_both);
      const auto& [rows, of_side] = sides_[number < num_incoming ? 0 : 1];
      const int64_t node = of_side[number < num_incoming ? number : number - num_incoming];
      const Row row = rows.row(node);
      nodes.push_back(node);
      nodes.push_back(rows.end_of(draw_plain(rows, row, row.begin, absorb(of_edge, 1))));
    }
  }

 private:
  struct Side {
    explicit Side(const WalkEdges& edges) : rows(edges) {
      for (int64_t node = 0; node < rows.num_rows(); ++node)
        if (rows.row(node).degree > 0) nodes.push_back(node);
    }
    WalkRows rows;
    std::vector<int64_t> nodes;  // that have edges
  };

  Side sides_[2];
};

// Walks from roots that are drawn from all nodes alike.
class WalkDraws {
 public:
  WalkDraws(WalkEdges outgoing, int64_t length) : outgoing_(std::move(outgoing)), length_(length) {}

  void add(uint64_t key, int64_t count, std::vector<int64_t>& nodes) const {
    const auto num_nodes = static_cast<uint64_t>(WalkRows(outgoing_).num_rows());
    std::vector<int64_t> roots;
    for (int64_t i = 0; i < count; ++i)
      roots.push_back(
          static_cast<int64_t>(uniform_below(absorb(key, static_cast<uint64_t>(i)), num_nodes)));
    const Walks walks = random_walks(std::span(&outgoing_, 1), roots,
                                     {.length = length_, .seed = key, .threads = 1});
    for (const int64_t node : walks.nodes.as<int64_t>())
      if (node >= 0) nodes.push_back(node);
  }

 private:
  WalkEdges outgoing_;
  int64_t length_;
};

using Draws = std::variant<NodeDraws, EdgeDraws, WalkDraws>;

Draws draws_of(const WalkEdges& incoming, const WalkEdges& outgoing, const SaintOptions& options) {
  switch (options.sampler) {
    case SaintSampler::kNode:
      return NodeDraws(incoming);
    case SaintSampler::kEdge:
      return EdgeDraws(incoming, outgoing);
    case SaintSampler::kWalk:
      break;
  }
  return WalkDraws(outgoing, options.walk_length);
}

class Saint final : public Subgraphs {
 public:
  Saint(std::shared_ptr<const Graph> graph, const WalkEdges& outgoing, const SaintOptions& options)
      : graph_(std::move(graph)),
        outgoing_(outgoing.graph),
        options_(options),
        draws_(draws_of({graph_, 0}, outgoing, options)) {}

  [[nodiscard]] int64_t num_items() const override { return options_.num_steps; }

  [[nodiscard]] std::vector<std::vector<int64_t>> nodes(std::span<const int64_t> items,
                                                        uint64_t epoch) const override {
    const uint64_t key =
        absorb(absorb(static_cast<uint64_t>(Domain::kSubgraph), options_.seed), epoch);
    std::vector<int64_t> nodes;
    for (const int64_t item : items) {
      const uint64_t of_item = absorb(key, static_cast<uint64_t>(item));
      std::visit([&](const auto& draws) { draws.add(of_item, options_.batch_size, nodes); },
                 draws_);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return {std::move(nodes)};
  }

  [[nodiscard]] uint64_t digest() const override {
    uint64_t h = static_cast<uint64_t>(Domain::kFingerprint);
    for (const int64_t value : {static_cast<int64_t>(options_.sampler), options_.batch_size,
                                options_.walk_length, options_.num_steps})
      h = absorb(h, static_cast<uint64_t>(value));
    return absorb(h, options_.seed);
  }

 private:
  std::shared_ptr<const Graph> graph_, outgoing_;  // which the draws read
  SaintOptions options_;
  Draws draws_;
};

void check(const Graph& graph, const WalkEdges& outgoing, const SaintOptions& options) {
  const auto& types = graph.edge_types();
  if (graph.node_types().size() != 1 || types.size() != 1)
    throw_invalid("the graph has ", graph.node_types().size(), " node types and ", types.size(),
                  " edge types, expected one of each");
  const int64_t num_nodes = graph.node_types()[0].num_nodes;
  if (options.batch_size < 1)
    throw_invalid("batch_size is ", options.batch_size, ", not 1 or more");
  if (options.walk_length < 0)
    throw_invalid("walk_length is ", options.walk_length, ", not 0 or more");
  if (options.num_steps < 1) throw_invalid("num_steps is ", options.num_steps, ", not 1 or more");
  if (num_nodes == 0) throw_invalid("the graph has no nodes to draw");
  if (options.sampler != SaintSampler::kWalk && types[0].num_edges() == 0)
    throw_invalid("the graph has no edges, by which nodes and edges are drawn; sampler 'walk' ",
                  "needs none");
  if (options.sampler == SaintSampler::kNode) return;
  if (outgoing.graph == nullptr || WalkRows(outgoing).num_rows() != num_nodes)
    throw_invalid("the edges by source are not those of a graph with ", num_nodes, " nodes");
}

}  // namespace

SaintSampler parse_saint_sampler(const std::string& name) {
  if (name == "node") return SaintSampler::kNode;
  if (name == "edge") return SaintSampler::kEdge;
  if (name == "walk") return SaintSampler::kWalk;
  throw_invalid("sampler is '", name, "', expected 'node', 'edge' or 'walk'");
}

std::shared_ptr<const Subgraphs> make_saint(std::shared_ptr<const Graph> graph,
                                            const WalkEdges& outgoing,
                                            const SaintOptions& options) {
  check(*graph, outgoing, options);
  return std::make_shared<const Saint>(std::move(graph), outgoing, options);
}

}  // namespace ramet
