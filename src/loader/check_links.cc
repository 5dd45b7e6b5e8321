#include <cmath>
#include <string>

#include "check_options.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::string name_of(size_t input, const char* what) {
  return concat("links[", input, "].", what);
}

void require_int64(const Array& array, std::vector<int64_t> shape, const std::string& name) {
  if (array.dtype == DType::kInt64 && array.shape == shape) return;
  throw_invalid(name, " is ", array.describe(), ", expected int64 of ", shape.size(),
                " dimensions, of ", shape[0], " rows");
}

void require_below(const Array& ids, int64_t bound, const std::string& name) {
  with_ids(ids, [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i)
      if (static_cast<uint64_t>(values[i]) >= static_cast<uint64_t>(bound))
        throw_error(ErrorCode::kOutOfRange, name, "[", i, "] = ", values[i], " is outside [0, ",
                    bound, ")");
  });
}

int64_t num_nodes(const Graph& graph, int type) {
  return graph.node_types()[static_cast<size_t>(type)].num_nodes;
}

void check_pairs(const InputEdges& edges, const Graph& graph, size_t input) {
  const auto num_types = std::ssize(graph.node_types());
  require_index(edges.src, num_types, "node type");
  require_index(edges.dst, num_types, "node type");
  if (edges.sources.data == nullptr) {
    if (graph.part())
      throw_invalid(name_of(input, "sources"), " are missing, which a part of a graph needs");
    require_index(edges.edge_type, std::ssize(graph.edge_types()), "edge type");
    const EdgeType& type = graph.edge_types()[static_cast<size_t>(edges.edge_type)];
    if (type.src != edges.src || type.dst != edges.dst)
      throw_invalid("edge type '", type.encoded, "' does not connect node types ", edges.src,
                    " and ", edges.dst);
    if (edges.positions.data != nullptr)
      require_below(edges.positions, type.num_edges(), name_of(input, "positions"));
    return;
  }
  const int64_t count = edges.sources.rows();
  require_int64(edges.sources, {count}, name_of(input, "sources"));
  require_int64(edges.destinations, {count}, name_of(input, "destinations"));
  require_below(edges.sources, num_nodes(graph, edges.src), name_of(input, "sources"));
  require_below(edges.destinations, num_nodes(graph, edges.dst), name_of(input, "destinations"));
}

void check_negatives(const InputEdges& edges, const Graph& graph, size_t input) {
  const LinkNegatives& negatives = *edges.negatives;
  if (!(negatives.amount > 0) || negatives.amount > kMaxNegatives)
    throw_invalid("amount is ", negatives.amount, ", expected more than 0 and at most ",
                  kMaxNegatives);
  if (negatives.given.data != nullptr) {
    require_int64(negatives.given,
                  {num_pairs(edges, graph), static_cast<int64_t>(std::ceil(negatives.amount))},
                  name_of(input, "negatives"));
    require_below(negatives.given, num_nodes(graph, edges.dst), name_of(input, "negatives"));
    return;
  }
  if (negatives.options.sources.num_nodes != num_nodes(graph, edges.src) ||
      negatives.options.destinations.num_nodes != num_nodes(graph, edges.dst))
    throw_invalid("candidates are of ", negatives.options.sources.num_nodes, " sources and ",
                  negatives.options.destinations.num_nodes, " destinations, expected ",
                  num_nodes(graph, edges.src), " and ", num_nodes(graph, edges.dst));
}

void check_exclusion(const Exclusion& rule, const InputEdges& edges, const Graph& graph) {
  require_index(rule.edge_type, std::ssize(graph.edge_types()), "excluded edge type");
  const EdgeType& type = graph.edge_types()[static_cast<size_t>(rule.edge_type)];
  const int src = rule.reversed ? edges.dst : edges.src,
            dst = rule.reversed ? edges.src : edges.dst;
  if (type.src != src || type.dst != dst)
    throw_invalid("excluded edge type '", type.encoded, "' does not connect node types ", src,
                  " and ", dst, ", as the pairs", rule.reversed ? " reversed" : "", " do");
}

}  // namespace

void check_links(const LoaderOptions& options, const Graph& graph) {
  if (options.links.empty()) return;
  for (size_t i = 0; i < options.links.size(); ++i) {
    const InputEdges& edges = options.links[i];
    check_pairs(edges, graph, i);
    const int64_t count = num_pairs(edges, graph);
    if (edges.times.data != nullptr) require_int64(edges.times, {count}, name_of(i, "times"));
    if ((edges.times.data != nullptr) != options.sample.time.has_value())
      throw_invalid("links have ", edges.times.data == nullptr ? "no times, but there is a " : "",
                    "time",
                    edges.times.data == nullptr ? "" : "s, but nothing to compare them with");
    if (edges.negatives) check_negatives(edges, graph, i);
    for (const Exclusion& rule : edges.excluded)
      check_exclusion(rule, edges, graph);
  }
}

}  // namespace ramet
