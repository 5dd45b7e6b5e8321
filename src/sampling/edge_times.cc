#include "edge_times.h"

#include <algorithm>
#include <limits>

#include "ramet/error.h"

namespace ramet {
namespace {

const Array* find(const std::map<std::string, Array>& tables, const std::string& name) {
  const auto table = tables.find(name);
  return table == tables.end() ? nullptr : &table->second;
}

const NodeType& sources_of(const Graph& graph, const EdgeType& edges) {
  return graph.node_types()[static_cast<size_t>(edges.src)];
}

void require_times(const Array& table, const std::string& name, const std::string& owner) {
  if (table.dtype == DType::kInt64 && table.shape.size() == 1) return;
  throw_invalid("table '", name, "' of ", owner, " is ", table.describe(),
                ", expected one int64 each: times count units, such as seconds");
}

// One name cannot be of both: a reader of the program would not know which times count.
void check_tables(const SampleOptions& options, const Graph& graph) {
  const std::string& name = options.time->table;
  std::string with_edge_times, with_source_times;
  for (size_t t = 0; t < graph.edge_types().size(); ++t) {
    const auto& fanouts = options.fanouts[t];
    if (std::all_of(fanouts.begin(), fanouts.end(), [](int64_t fanout) { return fanout == 0; }))
      continue;
    const EdgeType& edges = graph.edge_types()[t];
    const NodeType& sources = sources_of(graph, edges);
    if (const Array* table = find(edges.tables, name)) {
      with_edge_times = "edge type '" + edges.encoded + "'";
      require_times(*table, name, with_edge_times);
    }
    if (const Array* table = find(sources.tables, name)) {
      with_source_times = "node type '" + sources.name + "'";
      require_times(*table, name, with_source_times);
    }
  }
  if (!with_edge_times.empty() && !with_source_times.empty())
    throw_invalid("'", name, "' is a table of ", with_edge_times, " and of ", with_source_times,
                  ": times are either of edges or of nodes");
}

// Whether anything in the graph has the table.
bool has_table(const Graph& graph, const std::string& name) {
  const auto& nodes = graph.node_types();
  const auto& edges = graph.edge_types();
  const auto has = [&](const auto& type) { return find(type.tables, name) != nullptr; };
  return std::any_of(nodes.begin(), nodes.end(), has) ||
         std::any_of(edges.begin(), edges.end(), has);
}

void check_last(const Method& method) {
  if (std::holds_alternative<Weighted>(method))
    throw_invalid("strategy is 'last' with Weighted: the latest neighbors are drawn by no weight");
  const auto* uniform = std::get_if<Uniform>(&method);
  if (uniform != nullptr && uniform->replace)
    throw_invalid("strategy is 'last' with replace: the latest neighbors are taken once each");
}

// Returns the end of what it writes.
int64_t* write_times(const Graph& graph, const Time& rule, const Seeds& seeds, int64_t* time) {
  if (!seeds.times.empty()) {
    if (seeds.times.size() != seeds.ids.size())
      throw_invalid("there are ", seeds.times.size(), " times of ", seeds.ids.size(), " seeds");
    return std::copy(seeds.times.begin(), seeds.times.end(), time);
  }
  if (seeds.ids.empty()) return time;  // of times that were given, none is left
  const NodeType& type = graph.node_types()[static_cast<size_t>(seeds.type)];
  const Array* table = find(type.tables, rule.table);
  if (table == nullptr)
    throw_invalid("node type '", type.name, "' has no table '", rule.table,
                  "': its seeds need times of their own, input_time");
  require_times(*table, rule.table, "node type '" + type.name + "'");
  const auto of_nodes = table->as<int64_t>();
  return std::transform(seeds.ids.begin(), seeds.ids.end(), time,
                        [of_nodes](int64_t id) { return of_nodes[static_cast<size_t>(id)]; });
}

}  // namespace

TimeSpan allowed_times(const Time& rule, int64_t now) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  const bool is_before = rule.comparison == Comparison::kBefore;
  if (is_before && now == kFirst) return {0, -1};
  TimeSpan span{kFirst, is_before ? now - 1 : now};
  const bool overflows = rule.window >= 0 && __builtin_sub_overflow(now, rule.window, &span.first);
  if (overflows) span.first = kFirst;
  return span;
}

std::vector<std::optional<EdgeTimes>> edge_times(const Graph& graph,
                                                 const std::optional<Time>& rule) {
  std::vector<std::optional<EdgeTimes>> times(graph.edge_types().size());
  for (size_t t = 0; rule && t < times.size(); ++t) {
    const EdgeType& edges = graph.edge_types()[t];
    const NodeType& sources = sources_of(graph, edges);
    const Array* of_edges = find(edges.tables, rule->table);
    const Array* of_sources = find(sources.tables, rule->table);
    if (of_edges == nullptr && of_sources == nullptr) continue;
    const std::string folder =
        of_edges != nullptr ? "edge/" + edges.encoded : "node/" + encode_name(sources.name);
    const std::string array = folder + "/" + encode_name(rule->table);
    // What is writable may have been written to.
    const bool sorted = edges.sorted_by == array && !(of_edges ? of_edges : of_sources)->writable;
    times[t] = {.rule = *rule, .sorted = sorted, .place = graph.store()->place(array)};
    if (of_edges != nullptr) {
      times[t]->of_edges = of_edges->as<int64_t>().data();
    } else {
      times[t]->of_sources = of_sources->as<int64_t>().data();
    }
  }
  return times;
}

void check_time(const SampleOptions& options, const Graph& graph) {
  if (!options.time) return;
  const Time& time = *options.time;
  if (time.window < -1)
    throw_invalid("window is ", time.window, ", expected at least 0, or -1 for none");
  if (time.strategy == Strategy::kLast) check_last(options.method);
  if (graph.part())
    throw_invalid("time needs a whole graph: this is a part, without the times of other nodes");
  if (!has_table(graph, time.table))
    throw_error(ErrorCode::kNotFound, "neither a node type nor an edge type has a table '",
                time.table, "' of times");
  check_tables(options, graph);
}

Array seed_times(const Graph& graph,
                 const Time& rule,
                 std::span<const Seeds> seeds,
                 BufferPool& pool) {
  int64_t count = 0;
  for (const Seeds& of_type : seeds)
    count += std::ssize(of_type.ids);
  Array times = pool.allocate_array(DType::kInt64, {count});
  auto* time = static_cast<int64_t*>(times.data);
  for (const Seeds& of_type : seeds)
    time = write_times(graph, rule, of_type, time);
  return times;
}

}  // namespace ramet
