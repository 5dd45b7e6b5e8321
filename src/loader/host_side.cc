#include "host_side.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ramet/error.h"
#include "ramet/store.h"

namespace ramet {
namespace {

// As the graph's store names it.
std::string array_name(const Graph& graph, const TableRequest& request) {
  if (request.is_of_edges()) {
    const EdgeType& type = graph.edge_types()[static_cast<size_t>(request.edge_type)];
    return "edge/" + type.encoded + "/" + request.name;
  }
  const NodeType& type = graph.node_types()[static_cast<size_t>(request.node_type)];
  return "node/" + encode_name(type.name) + "/" + request.name;
}

std::string why_in_place(const Graph& graph, const TableRequest& request, Placement wanted) {
  if (request.is_pulled()) return "rows of this machine; others are pulled";
  if (wanted != Location::kAuto) return "as asked";
  if (request.given) return "the rows are those of a given table";
  if (graph.store()->read_by_row().count(array_name(graph, request)) > 0)
    return "memory could not hold it when the store was opened: pages are read as rows are touched";
  return "memory could hold it when the store was opened";
}

const char* why_cached(CacheBy by) {
  switch (by) {
    case CacheBy::kDegree:
      return "of the nodes with most out-edges";
    case CacheBy::kPresampling:
      return "of the nodes in most of the first batches";
    case CacheBy::kRecency:
      return "that were used last";
  }
  return "";
}

}  // namespace

HostSide make_host_side(const std::shared_ptr<const Graph>& graph,
                        const LoaderOptions& options,
                        const SeedsOfStep& seeds,
                        int64_t num_steps) {
  const std::vector<Placement>& places = options.host.tables;
  const int64_t cache_rows = options.host.cache_rows;
  const CacheBy cache_by = options.host.cache_by;
  std::map<int, std::vector<int64_t>> nodes;  // to cache, by type
  const auto with_cache = [&](std::shared_ptr<const RowSource> source, int type, int64_t rows) {
    if (cache_by == CacheBy::kRecency) return with_last_rows(std::move(source), rows, cache_rows);
    if (nodes.count(type) == 0)
      nodes[type] = nodes_to_cache(graph, options, seeds, num_steps, type, {cache_rows, cache_by});
    return with_kept_rows(std::move(source), rows, nodes[type]);
  };
  HostSide side;
  for (size_t i = 0; i < options.tables.size(); ++i) {
    const TableRequest& request = options.tables[i];
    const Table table = table_of(*graph, request);
    std::string why = why_in_place(*graph, request, places.empty() ? Placement() : places[i]);
    std::shared_ptr<const RowSource> source;
    if (!request.is_pulled())
      source =
          make_row_source(table, {.decode = options.decode, .as_bfloat16 = request.as_bfloat16});
    if (cache_rows > 0 && is_cached(request)) {
      const int64_t rows = table.rows().rows();
      source = with_cache(std::move(source), request.node_type, rows);
      why += concat("; a cache has ", std::min(cache_rows, rows), " rows ", why_cached(cache_by));
    }
    side.sources.push_back(std::move(source));
    side.placement.push_back({request.name, Location::kInPlace, bytes_of(table), std::move(why)});
  }
  return side;
}

RowSources with_caches(const Graph& graph,
                       const std::vector<TableRequest>& requests,
                       RowSources sources,
                       int64_t cache_rows) {
  for (size_t i = 0; i < requests.size() && cache_rows > 0; ++i)
    if (is_cached(requests[i]))
      sources[i] = with_last_rows(std::move(sources[i]), table_of(graph, requests[i]).rows().rows(),
                                  cache_rows);
  return sources;
}

}  // namespace ramet
