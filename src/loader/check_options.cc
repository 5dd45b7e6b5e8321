#include "check_options.h"

#include <algorithm>
#include <vector>

#include "loader/rows/batch_rows.h"
#include "loader/seeds/node_seeds.h"
#include "ramet/error.h"
#include "sampling/cooperative_sampler.h"

namespace ramet {
namespace {

void check_ids(const Array& ids, const NodeType& type) {
  if (ids.shape.size() != 1 || (ids.dtype != DType::kInt32 && ids.dtype != DType::kInt64))
    throw_invalid("input_nodes is ", ids.describe(), ", expected one dimension of int32 or int64");
  with_ids(ids, [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (static_cast<uint64_t>(values[i]) < static_cast<uint64_t>(type.num_nodes)) continue;
      throw_error(ErrorCode::kOutOfRange, "input_nodes[", i, "] = ", values[i], " is outside [0, ",
                  type.num_nodes, ") of node type '", type.name, "'");
    }
  });
}

void check_times(const Array& times, bool is_time_asked, int64_t expected) {
  if (!is_time_asked)
    throw_invalid("input_time is ", times.describe(), ", but there is no time to compare it with");
  const bool are_windows = times.shape.size() == 2 && times.shape[1] == 2;
  if ((times.shape.size() != 1 && !are_windows) || times.dtype != DType::kInt64)
    throw_invalid("input_time is ", times.describe(), ", expected int64[", expected, "] or int64[",
                  expected, ", 2]");
  if (times.rows() != expected)
    throw_invalid("input_time has ", times.rows(), " entries, expected ", expected,
                  ", one for each input node");
}

void check_inputs(const LoaderOptions& options, const Graph& graph) {
  if (options.inputs.empty()) throw_invalid("inputs name no node type, expected at least one");
  std::vector<bool> is_named(graph.node_types().size());
  int64_t total = 0;
  for (const InputNodes& nodes : options.inputs) {
    require_index(nodes.node_type, std::ssize(graph.node_types()), "node type");
    const auto t = static_cast<size_t>(nodes.node_type);
    const NodeType& type = graph.node_types()[t];
    if (is_named[t]) throw_invalid("inputs name node type '", type.name, "' twice, expected once");
    is_named[t] = true;
    if (nodes.ids.data != nullptr) check_ids(nodes.ids, type);
    const int64_t count = num_items(nodes, graph);
    if (nodes.times.data != nullptr)
      check_times(nodes.times, options.sample.time.has_value(), count);
    if (__builtin_add_overflow(total, count, &total))
      throw_invalid("inputs of ", options.inputs.size(), " node types are more than 2^63 - 1");
  }
}

void check_subgraphs(const LoaderOptions& options) {
  const SampleOptions& sample = options.sample;
  const bool has_hops = !sample.fanouts.empty() && !sample.fanouts.front().empty();
  if (has_hops || sample.disjoint || sample.expand != Expand::kOnce)
    throw_invalid("batches that are subgraphs have no hops and no trees, and expand is 'once'");
  if (options.device.index != kHost || options.cooperative.membership)
    throw_invalid("batches that are subgraphs are made by one rank, on the host");
}

bool is_input(const LoaderOptions& options, int node_type) {
  return std::any_of(options.inputs.begin(), options.inputs.end(),
                     [=](const InputNodes& nodes) { return nodes.node_type == node_type; });
}

void check_pulled(const TableRequest& request, const DeviceOptions& device) {
  const PulledTable& table = *request.pulled();
  if (device.index != kHost)
    throw_invalid("table '", request.name,
                  "' has rows on other machines, which batches of a device cannot have");
  if (std::ssize(table.is_local) != table.positions.parts())
    throw_invalid("table '", request.name, "' has ", table.is_local.size(),
                  " ranks, expected those of its positions");
}

void check_provided(const TableRequest& request, const Graph& graph, const DeviceOptions& device) {
  const int found = request.table()->rows().device;
  if (request.is_of_edges())
    throw_invalid("table '", request.name, "' is of an edge type, whose rows are the graph's own");
  if (found != kHost && found != device.index)
    throw_invalid("table '", request.name, "' lies on device ", found, ", but batches are made on ",
                  device.index == kHost ? "the host" : concat("device ", device.index));
  if (request.pulled() != nullptr) check_pulled(request, device);
  const NodeType& type = graph.node_types()[static_cast<size_t>(request.node_type)];
  const RowPositions* const positions = request.positions();
  const int64_t rows =
      positions != nullptr ? positions->num_rows() : request.table()->rows().rows();
  if (rows != type.num_nodes)
    throw_invalid("table '", request.name, "' has ", rows, " rows, but node type '", type.name,
                  "' has ", type.num_nodes, " nodes");
}

void check_fused(const TableRequest& request, const Graph& graph, const LoaderOptions& options) {
  const std::string what = "table '" + request.name + "' is fused with the first block, ";
  if (request.is_of_edges() || request.at_seeds)
    throw_invalid(what, "but is not asked for at the nodes of a type");
  if (request.pulled() != nullptr) throw_invalid(what, "but has rows on other machines");
  const NodeType& type = graph.node_types()[static_cast<size_t>(request.node_type)];
  if (options.cooperative.membership && request.table() == nullptr && !type.rows.is_whole())
    throw_invalid(what, "but a part of a graph lacks the rows of sources that other ranks own");
  if (options.sample.expand == Expand::kOnce)
    throw_invalid(what, "but with expand 'once' there are no blocks");
  const Table table = table_of(graph, request);
  const DType dtype = table.form(options.decode).dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16)
    throw_invalid(what, "but its rows are ", name(dtype),
                  ", expected float32, float16 or bfloat16");
}

void check_hidden(const TableRequest& request, const Graph& graph, const LoaderOptions& options) {
  const std::string what = "table '" + request.name + "' hides numbers of seeds, ";
  if (!request.is_of_nodes() || request.fused || !is_input(options, request.node_type))
    throw_invalid(what, "but is not gathered at the nodes of a type of seeds");
  const RowForm form = table_of(graph, request).form(options.decode);
  const int64_t width = form.row_bytes() / item_size(form.dtype);
  for (const auto& [begin, end] : request.hidden)
    if (begin < 0 || end < begin || end > width)
      throw_invalid(what, "from ", begin, " to ", end, ", but a row has ", width);
}

void check_table(const TableRequest& request, const Graph& graph, const LoaderOptions& options) {
  if (request.at_seeds && (request.is_of_edges() || !is_input(options, request.node_type)))
    throw_invalid("table '", request.name,
                  "' is asked for at the seeds, but is not of their node type");
  if (request.is_of_edges())
    require_index(request.edge_type, std::ssize(graph.edge_types()), "edge type");
  else
    require_index(request.node_type, std::ssize(graph.node_types()), "node type");
  if (request.table() != nullptr)
    check_provided(request, graph, options.device);
  else
    static_cast<void>(table_of(graph, request));
  if (request.fused) check_fused(request, graph, options);
  if (!request.hidden.empty()) check_hidden(request, graph, options);
}

void check_device(const DeviceOptions& device, size_t num_tables) {
  require_at_least(device.index, 0, "device");
  require_at_least(device.cache_rows, 0, "cache_rows");
  if (device.cache_by == CacheBy::kRecency || device.cache_by == CacheBy::kLookAhead)
    throw_invalid("the rows of a device cache change, expected those by degree or presampling");
  require_at_least(device.max_sms, kEnoughSms, "max_sms");
  if (!device.tables.empty() && device.tables.size() != num_tables)
    throw_invalid("placements of ", device.tables.size(), " tables for ", num_tables);
}

bool presamples(int64_t cache_rows, CacheBy by) {
  return cache_rows > 0 && by == CacheBy::kPresampling;
}

// What ranks that cooperate say for their caches.
void check_cooperating(const LoaderOptions& options, const Graph& graph) {
  const auto& [membership, presampled] = options.cooperative;
  const auto types = std::ssize(graph.node_types());
  if (membership) check(*membership, graph);
  if (presampled.empty()) {
    const bool is_together = membership || graph.part();
    if (is_together && (presamples(options.host.cache_rows, options.host.cache_by) ||
                        presamples(options.device.cache_rows, options.device.cache_by)))
      throw_invalid("rows are cached by presampling, but ranks that cooperate sample together: ",
                    "expected in how many of the first batches each node is");
    return;
  }
  if (std::ssize(presampled) != types)
    throw_invalid("presampled nodes of ", presampled.size(), " types, expected ", types);
  for (size_t t = 0; t < presampled.size(); ++t) {
    const Array& counts = presampled[t];
    const NodeType& type = graph.node_types()[t];
    if (counts.dtype != DType::kInt64 || counts.shape != std::vector<int64_t>{type.num_nodes})
      throw_invalid("presampled nodes of type '", type.name, "' are ", counts.describe(),
                    ", expected int64[", type.num_nodes, "]");
  }
}

void check_host(const LoaderOptions& options) {
  const HostOptions& host = options.host;
  require_at_least(host.cache_rows, 0, "cache_rows");
  require_at_most(host.cache_rows, kMaxCachedRows, "cache_rows");
  require_at_least(host.look_ahead, 0, "look_ahead");
  require_at_most(host.look_ahead, kMaxLookAhead, "look_ahead");
  if (!host.tables.empty() && host.tables.size() != options.tables.size())
    throw_invalid("placements of ", host.tables.size(), " tables for ", options.tables.size());
  for (const Location placement : host.tables)
    static_cast<void>(location_named(name(placement), kHostTables,
                                     "the placement of a table for batches of the host"));
  for (const TableRequest& request : options.tables)
    if (request.fused && host.cache_rows > 0)
      throw_invalid("table '", request.name, "' is fused with the first block, which reads it in ",
                    "place, but ", host.cache_rows, " rows are to be cached");
}

}  // namespace

void check(const LoaderOptions& options, const Graph& graph) {
  check(options.sample, graph);
  check_inputs(options, graph);
  check_links(options, graph);
  if (options.subgraphs != nullptr) check_subgraphs(options);
  require_at_least(options.threads, 0, "threads");
  require_at_most(options.threads, kMaxThreads, "threads");
  require_at_least(options.prefetch, 0, "prefetch");
  require_at_most(options.prefetch, kMaxPrefetch, "prefetch");
  for (const TableRequest& request : options.tables)
    check_table(request, graph, options);
  for (const PrefetchHints& hints : options.prefetch_hints)
    require_index(hints.node_type, std::ssize(graph.node_types()), "node type");
  check_cooperating(options, graph);
  check_host(options);
  if (options.device.index != kHost) check_device(options.device, options.tables.size());
}

void require_at_least(int64_t value, int64_t least, const char* name) {
  if (value < least) throw_invalid(name, " is ", value, ", expected at least ", least);
}

void require_at_most(int64_t value, int64_t most, const char* name) {
  if (value > most) throw_invalid(name, " is ", value, ", expected at most ", most);
}

}  // namespace ramet
