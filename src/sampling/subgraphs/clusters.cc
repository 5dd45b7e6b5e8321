#include <utility>

#include "base/digest.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "ramet/subgraphs.h"

namespace ramet {
namespace {

int64_t num_clusters(const ClusteredNodes& clusters) {
  return clusters.offsets.rows() - 1;
}

void check(const ClusteredNodes& clusters, const NodeType& type) {
  const auto& [offsets, ids] = clusters;
  if (offsets.dtype != DType::kInt64 || offsets.shape.size() != 1 || offsets.rows() == 0)
    throw_invalid("offsets of clusters are ", offsets.describe(),
                  ", expected int64 [clusters + 1]");
  const auto ends = offsets.as<int64_t>();
  if (ends.front() != 0 || ends.back() != ids.rows())
    throw_invalid("offsets of clusters go from ", ends.front(), " to ", ends.back(),
                  ", expected 0 to ", ids.rows());
  for (size_t c = 1; c < ends.size(); ++c)
    if (ends[c] < ends[c - 1])
      throw_invalid("offsets of clusters decrease at ", c, ", from ", ends[c - 1], " to ", ends[c]);
  with_ids(ids, [&](auto nodes) {
    for (const auto node : nodes)
      require_index(static_cast<int64_t>(node), type.num_nodes, "a node of a cluster");
  });
}

class Clusters final : public Subgraphs {
 public:
  explicit Clusters(std::vector<ClusteredNodes> of_types) : of_types_(std::move(of_types)) {}

  [[nodiscard]] int64_t num_items() const override { return num_clusters(of_types_.front()); }

  [[nodiscard]] std::vector<std::vector<int64_t>> nodes(std::span<const int64_t> items,
                                                        uint64_t /*epoch*/) const override {
    std::vector<std::vector<int64_t>> nodes;
    for (const ClusteredNodes& of_type : of_types_)
      nodes.push_back(nodes_of(of_type, items));
    return nodes;
  }

  [[nodiscard]] uint64_t digest() const override {
    uint64_t h = static_cast<uint64_t>(Domain::kFingerprint);
    for (const auto& [offsets, ids] : of_types_)
      h = digest_ids(digest_ids(h, offsets), ids);
    return h;
  }

 private:
  static std::vector<int64_t> nodes_of(const ClusteredNodes& clusters,
                                       std::span<const int64_t> items) {
    const auto offsets = clusters.offsets.as<int64_t>();
    std::vector<int64_t> nodes;
    with_ids(clusters.ids, [&](auto ids) {
      for (const int64_t cluster : items) {
        const auto c = static_cast<size_t>(cluster);
        nodes.insert(nodes.end(), ids.begin() + offsets[c], ids.begin() + offsets[c + 1]);
      }
    });
    return nodes;
  }

  std::vector<ClusteredNodes> of_types_;
};

}  // namespace

std::shared_ptr<const Subgraphs> make_clusters(const Graph& graph,
                                               std::vector<ClusteredNodes> of_types) {
  const auto& types = graph.node_types();
  if (of_types.empty() || of_types.size() != types.size())
    throw_invalid("clusters of ", of_types.size(), " node types, expected those of ", types.size());
  for (size_t t = 0; t < types.size(); ++t) {
    check(of_types[t], types[t]);
    if (num_clusters(of_types[t]) != num_clusters(of_types[0]))
      throw_invalid("node type '", types[t].name, "' has ", num_clusters(of_types[t]),
                    " clusters, '", types[0].name, "' ", num_clusters(of_types[0]));
  }
  return std::make_shared<const Clusters>(std::move(of_types));
}

}  // namespace ramet
