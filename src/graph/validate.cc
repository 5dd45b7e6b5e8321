// Reads every entry of a graph's topology and splits: what opening a store leaves to the reader.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/scale.h"
#include "faults.h"
#include "ramet/error.h"
#include "ramet/graph.h"
#include "ramet/pages.h"
#include "read_part.h"

namespace ramet {
namespace {

bool check_monotonic(const Array& indptr, const std::string& location, Faults& faults) {
  const auto offsets = indptr.as<int64_t>();
  const auto check = [&](int64_t begin, int64_t end, ArrayFaults& found) {
    read_ahead(&offsets[static_cast<size_t>(begin)], (end - begin) * int64_t(sizeof(int64_t)));
    for (int64_t v = begin; v < end; ++v) {
      const int64_t a = offsets[static_cast<size_t>(v)], b = offsets[static_cast<size_t>(v) + 1];
      if (a > b) found.add_entry(location, v + 1, b, "is less than the ", a, " before it");
    }
  };
  return faults.check(location, indptr.rows() - 1, int64_t(sizeof(int64_t)), check);
}

bool check_ids(const Array& ids, int64_t bound, const std::string& location, Faults& faults) {
  return with_ids(ids, [&](auto values) {
    const auto check = [&](int64_t begin, int64_t end, ArrayFaults& found) {
      read_ahead(&values[static_cast<size_t>(begin)], (end - begin) * item_size(ids.dtype));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = values[static_cast<size_t>(i)];
        if (id < 0 || id >= bound) found.add_entry(location, i, id, "is outside [0, ", bound, ")");
      }
    };
    return faults.check(location, ids.rows(), item_size(ids.dtype), check);
  });
}

// By a bit for each id. False, too, where bits would take more memory than the ids.
template <typename Ids>
bool are_distinct(Ids ids, int threads) {
  const auto for_pieces = [&](const auto& body) {
    parallel_for(static_cast<int64_t>(ids.size()), 1 << 20, threads,
                 [&](int64_t begin, int64_t end) {
                   body(ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
                 });
  };
  std::atomic<uint64_t> largest{0};
  for_pieces([&](Ids piece) {
    uint64_t here = 0, so_far = largest;
    for (const auto id : piece)
      here = std::max(here, static_cast<uint64_t>(id));
    while (here > so_far && !largest.compare_exchange_weak(so_far, here)) {
    }
  });
  if (largest / 64 >= ids.size()) return ids.empty();
  std::vector<uint64_t> seen(largest / 64 + 1);
  std::atomic<bool> distinct{true};
  for_pieces([&](Ids piece) {
    for (const auto id : piece) {
      const uint64_t bit = uint64_t{1} << (static_cast<uint64_t>(id) % 64);
      std::atomic_ref word(seen[static_cast<uint64_t>(id) / 64]);
      if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) distinct = false;
    }
  });
  return distinct;
}

// Ids of edges need not be below the number of edges (dropped repeats leave holes), but no two
// edges may have the same one.
void check_edge_ids(const Array& edge_ids, const std::string& location, Faults& faults) {
  check_ids(edge_ids, std::numeric_limits<int64_t>::max(), location, faults);
  with_ids(edge_ids, [&](auto ids) {
    if (are_distinct(ids, faults.threads())) return;
    std::vector<int64_t> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    faults.check(location, 1, 0, [&](int64_t, int64_t, ArrayFaults& found) {
      const auto end = sorted.end();
      for (auto at = std::adjacent_find(sorted.begin(), end); at != end;
           at = std::adjacent_find(std::upper_bound(at, end, *at), end)) {
        const auto first =
            found.shows_no_more() ? ids.begin() : std::find(ids.begin(), ids.end(), *at);
        found.add_entry(location, first - ids.begin(), *at, "is the id of more than one edge");
      }
    });
  });
}

// `indptr` and `indices` are good: rows that overlap would be read again and again.
void check_sorted(const EdgeType& edges, const Store& store, Faults& faults) {
  const auto offsets = edges.indptr.as<int64_t>();
  const auto keys = store.arrays().at(edges.sorted_by).as<int64_t>();
  const bool is_of_edges = edges.sorted_by.starts_with("edge/");
  with_ids(edges.indices, [&](auto sources) {
    const auto key = [&](int64_t p) {
      const auto at = static_cast<size_t>(p);
      return keys[is_of_edges ? at : static_cast<size_t>(sources[at])];
    };
    const auto check = [&](int64_t begin, int64_t end, ArrayFaults& found) {
      for (auto v = static_cast<size_t>(begin); v < static_cast<size_t>(end); ++v) {
        for (int64_t p = offsets[v] + 1; p < offsets[v + 1]; ++p) {
          if (key(p - 1) <= key(p)) continue;
          found.add(edges.indices_location, ": row ", v, ", entry ", p, ": ", key(p), " of ",
                    edges.sorted_by, " follows ", key(p - 1),
                    ", but ramet.txt says that the rows are sorted by it");
        }
      }
    };
    faults.check(edges.indices_location, edges.indptr.rows() - 1, 0, check);
  });
}

void check_edges(const Graph& graph,
                 const EdgeType& edges,
                 const std::string& folder,
                 Faults& faults) {
  const Store& store = *graph.store();
  const int64_t num_src = graph.node_types()[static_cast<size_t>(edges.src)].num_nodes;
  const bool has_rows = check_monotonic(edges.indptr, store.location(folder + "/indptr"), faults);
  const bool has_sources =
      check_ids(edges.indices, num_src, store.location(folder + "/indices"), faults);
  if (edges.has_edge_ids())
    check_edge_ids(edges.edge_ids, store.location(folder + "/edge_ids"), faults);
  if (!edges.sorted_by.empty() && has_rows && has_sources) check_sorted(edges, store, faults);
}

// The bound of the ids in splits. Edges with ids of their own may be hidden: their ids may be any.
int64_t bound_of_ids(const EdgeType& edges) {
  if (edges.num_input_edges > 0) return edges.num_input_edges;
  return edges.has_edge_ids() ? std::numeric_limits<int64_t>::max() : edges.num_edges();
}

void check_splits(const Graph& graph, Faults& faults) {
  const auto location = [&graph](const std::string& split, const std::string& type) {
    return graph.store()->location(concat("split/", encode_name(split), "/", type));
  };
  for (const auto& [split, by_type] : graph.splits()) {
    for (const auto& [type, ids] : by_type) {
      const NodeType& nodes = graph.node_types()[static_cast<size_t>(graph.node_type(type))];
      check_ids(ids, nodes.num_nodes, location(split, encode_name(type)), faults);
    }
  }
  for (const auto& [split, by_type] : graph.edge_splits()) {
    for (const auto& [type, ids] : by_type) {
      const int t = graph.edge_type(EdgeTypeName::decode(type));
      const EdgeType& edges = graph.edge_types()[static_cast<size_t>(t)];
      check_ids(ids, bound_of_ids(edges), location(split, type), faults);
    }
  }
}

void check_scale(const Array& scale, const std::string& location, Faults& faults) {
  const auto values = scale.as<float>();
  const auto check = [&](int64_t begin, int64_t end, ArrayFaults& found) {
    for (int64_t i = begin; i < end; ++i) {
      const float value = values[static_cast<size_t>(i)];
      if (!std::isfinite(value) || value < 0)
        found.add(location, ", entry ", i, ": ", value,
                  " is no scale, which is finite and not negative");
    }
  };
  faults.check(location, static_cast<int64_t>(values.size()), int64_t(sizeof(float)), check);
}

// Whether every entry of an array is read, one after the other.
bool is_read(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  if (name.starts_with("node/") || name.starts_with("edge/"))
    return name.ends_with(kScaleSuffix) || last == "indptr" || last == "indices" ||
           last == "edge_ids";
  return name.starts_with("ids/") ? last == "order" : !name.starts_with("about/");
}

int64_t bytes_to_read(const Store& store) {
  int64_t bytes = 0;
  for (const auto& [name, array] : store.arrays())
    if (is_read(name)) bytes += array.bytes();
  return bytes;
}

}  // namespace

std::vector<std::string> find_faults(const Graph& graph, int threads, const Progress& progress) {
  const Store& store = *graph.store();
  Faults faults(threads, bytes_to_read(store), progress);
  check_owners(graph, faults);
  for (const EdgeType& edges : graph.edge_types())
    check_edges(graph, edges, "edge/" + edges.encoded, faults);
  for (const auto& [encoded, out] : graph.out_edges())
    check_edges(graph, out->edge_types()[0], "out/" + encoded, faults);
  for (const auto& [table, dtype] : store.table_dtypes()) {
    if (dtype != DType::kInt8) continue;
    const std::string scale = table + kScaleSuffix;
    check_scale(store.arrays().at(scale), store.location(scale), faults);
  }
  check_splits(graph, faults);
  for (const NodeType& type : graph.node_types())
    if (type.ids) type.ids->check(faults);
  return std::move(faults).take();
}

void validate(const Graph& graph, int threads) {
  const std::vector<std::string> faults = find_faults(graph, threads);
  if (!faults.empty()) throw_error(ErrorCode::kCorrupt, faults.front());
}

}  // namespace ramet
