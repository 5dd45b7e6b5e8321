// Reads every entry of a graph's topology and splits: what opening a store leaves to the reader.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "base/scale.h"
#include "ramet/error.h"
#include "ramet/graph.h"
#include "ramet/pages.h"
#include "read_part.h"

namespace ramet {
namespace {

constexpr int64_t kGrain = 1 << 20;

void check_monotonic(const Array& indptr, const std::string& place, int threads) {
  const auto offsets = indptr.as<int64_t>();
  parallel_for(indptr.rows() - 1, kGrain, threads, [&](int64_t begin, int64_t end) {
    read_ahead(&offsets[static_cast<size_t>(begin)], (end - begin) * int64_t(sizeof(int64_t)));
    for (int64_t v = begin; v < end; ++v) {
      const int64_t a = offsets[static_cast<size_t>(v)], b = offsets[static_cast<size_t>(v) + 1];
      if (a > b) throw_corrupt_entry(place, v + 1, b, "is less than the ", a, " before it");
    }
  });
}

void check_ids(const Array& ids, int64_t bound, const std::string& place, int threads) {
  with_ids(ids, [&](auto values) {
    parallel_for(ids.rows(), kGrain, threads, [&](int64_t begin, int64_t end) {
      read_ahead(&values[static_cast<size_t>(begin)], (end - begin) * item_size(ids.dtype));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = values[static_cast<size_t>(i)];
        if (id < 0 || id >= bound) {
          throw_corrupt_entry(place, i, id, "is outside [0, ", bound, ")");
        }
      }
    });
  });
}

// Ids of edges need not be below the number of edges (dropped repeats leave holes), but no two
// edges may have the same one.
void check_edge_ids(const Array& edge_ids, const std::string& place, int threads) {
  check_ids(edge_ids, std::numeric_limits<int64_t>::max(), place, threads);
  with_ids(edge_ids, [&](auto ids) {
    std::vector<int64_t> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return;
    const auto at = std::find(ids.begin(), ids.end(), *twice);
    throw_corrupt_entry(place, at - ids.begin(), *twice, "is the id of more than one edge");
  });
}

// `indptr` and `indices` have been checked.
void check_sorted(const EdgeType& edges, const Store& store, int threads) {
  const auto offsets = edges.indptr.as<int64_t>();
  const auto keys = store.arrays().at(edges.sorted_by).as<int64_t>();
  const bool is_of_edges = edges.sorted_by.starts_with("edge/");
  with_ids(edges.indices, [&](auto sources) {
    const auto key = [&](int64_t p) {
      const auto at = static_cast<size_t>(p);
      return keys[is_of_edges ? at : static_cast<size_t>(sources[at])];
    };
    parallel_for(edges.indptr.rows() - 1, kGrain, threads, [&](int64_t begin, int64_t end) {
      for (auto v = static_cast<size_t>(begin); v < static_cast<size_t>(end); ++v) {
        for (int64_t p = offsets[v] + 1; p < offsets[v + 1]; ++p) {
          if (key(p - 1) <= key(p)) continue;
          throw_corrupt(edges.indices_place, "row ", v, ", entry ", p, ": ", key(p), " of ",
                        edges.sorted_by, " follows ", key(p - 1),
                        ", but ramet.txt says that the rows are sorted by it");
        }
      }
    });
  });
}

void check_edges(const Graph& graph,
                 const EdgeType& edges,
                 const std::string& folder,
                 int threads) {
  const Store& store = *graph.store();
  const int64_t num_src = graph.node_types()[static_cast<size_t>(edges.src)].num_nodes;
  check_monotonic(edges.indptr, store.place(folder + "/indptr"), threads);
  check_ids(edges.indices, num_src, store.place(folder + "/indices"), threads);
  if (edges.has_edge_ids())
    check_edge_ids(edges.edge_ids, store.place(folder + "/edge_ids"), threads);
}

// The bound of the ids in splits. Edges with ids of their own may be hidden: their ids may be any.
int64_t bound_of_ids(const EdgeType& edges) {
  if (edges.num_input_edges > 0) return edges.num_input_edges;
  return edges.has_edge_ids() ? std::numeric_limits<int64_t>::max() : edges.num_edges();
}

void check_splits(const Graph& graph, int threads) {
  const auto place = [&graph](const std::string& split, const std::string& type) {
    return graph.store()->place(concat("split/", encode_name(split), "/", type));
  };
  for (const auto& [split, by_type] : graph.splits()) {
    for (const auto& [type, ids] : by_type) {
      const NodeType& nodes = graph.node_types()[static_cast<size_t>(graph.node_type(type))];
      check_ids(ids, nodes.num_nodes, place(split, encode_name(type)), threads);
    }
  }
  for (const auto& [split, by_type] : graph.edge_splits()) {
    for (const auto& [type, ids] : by_type) {
      const int t = graph.edge_type(EdgeTypeName::decode(type));
      const EdgeType& edges = graph.edge_types()[static_cast<size_t>(t)];
      check_ids(ids, bound_of_ids(edges), place(split, type), threads);
    }
  }
}

void check_scale(const Array& scale, const std::string& place, int threads) {
  const auto values = scale.as<float>();
  const auto count = static_cast<int64_t>(values.size());
  parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float value = values[static_cast<size_t>(i)];
      if (!std::isfinite(value) || value < 0)
        throw_error(ErrorCode::kCorrupt, place, ", entry ", i, ": ", value,
                    " is no scale, which is finite and not negative");
    }
  });
}

}  // namespace

void validate(const Graph& graph, int threads) {
  const Store& store = *graph.store();
  validate_part(graph, threads);
  for (const EdgeType& edges : graph.edge_types()) {
    check_edges(graph, edges, "edge/" + edges.encoded, threads);
    if (!edges.sorted_by.empty()) check_sorted(edges, store, threads);
  }
  for (const auto& [encoded, out] : graph.out_edges())
    check_edges(*out, out->edge_types()[0], "out/" + encoded, threads);
  for (const auto& [table, dtype] : store.table_dtypes()) {
    if (dtype != DType::kInt8) continue;
    const std::string scale = table + kScaleSuffix;
    check_scale(store.arrays().at(scale), store.place(scale), threads);
  }
  check_splits(graph, threads);
  for (const NodeType& type : graph.node_types())
    if (type.ids) type.ids->validate(threads);
}

}  // namespace ramet
