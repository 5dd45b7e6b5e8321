#include "edge_times.h"

#include <algorithm>

#include "ramet/error.h"
#include "rows.h"

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

// Whether any of the types has the table.
template <typename Types>
bool has_table(const Types& types, const std::string& name) {
  return std::any_of(types.begin(), types.end(),
                     [&](const auto& type) { return find(type.tables, name) != nullptr; });
}

void check_last(const Method& method) {
  if (std::holds_alternative<Labor>(method))
    throw_invalid("strategy is 'last' with Labor: the latest neighbors are drawn by no words");
  if (std::holds_alternative<Weighted>(method))
    throw_invalid("strategy is 'last' with Weighted: the latest neighbors are drawn by no weight");
  const auto* uniform = std::get_if<Uniform>(&method);
  if (uniform != nullptr && uniform->replace)
    throw_invalid("strategy is 'last' with replace: the latest neighbors are taken once each");
}

bool has_windows(const Seeds& seeds) {
  return !seeds.ids.empty() && seeds.times.size() == 2 * seeds.ids.size();
}

void check_windows(const Time& rule, std::span<const int64_t> ends) {
  if (rule.window >= 0)
    throw_invalid("window is ", rule.window,
                  ", but each seed was given the first and the last time that it allows");
  for (size_t i = 0; i < ends.size(); i += 2) {
    if (ends[i] > ends[i + 1])
      throw_invalid("input_time[", i / 2, "] is ", ends[i], " to ", ends[i + 1],
                    ", expected the first time that is allowed, and then the last");
  }
}

// Returns the end of what it writes. per_seed: how many times the seeds of all types have.
int64_t* write_times(
    const Graph& graph, const Time& rule, const Seeds& seeds, size_t per_seed, int64_t* time) {
  if (seeds.ids.empty()) return time;
  if (!seeds.times.empty()) {
    if (seeds.times.size() != per_seed * seeds.ids.size())
      throw_invalid("there are ", seeds.times.size(), " times of ", seeds.ids.size(),
                    " seeds, expected ", per_seed, " for each");
    if (per_seed == 2) check_windows(rule, seeds.times);
    return std::copy(seeds.times.begin(), seeds.times.end(), time);
  }
  const NodeType& type = graph.node_types()[static_cast<size_t>(seeds.type)];
  const Array* table = find(type.tables, rule.table);
  if (table == nullptr)
    throw_invalid("node type '", type.name, "' has no table '", rule.table,
                  "': its seeds need times of their own, input_time");
  require_times(*table, rule.table, "node type '" + type.name + "'");
  if (per_seed == 2)
    throw_invalid("seeds of node type '", type.name, "' were given no times, but others two each");
  const auto of_nodes = table->as<int64_t>();
  return std::transform(seeds.ids.begin(), seeds.ids.end(), time,
                        [of_nodes](int64_t id) { return of_nodes[static_cast<size_t>(id)]; });
}

}  // namespace

void EdgeTimes::throw_unsorted(int64_t entry) const {
  throw_bad_entry(location, entry, data()[entry],
                  "is out of order: ramet.txt says that rows are sorted by it");
}

TimeSpan allowed_times(const Time& rule, int64_t now) {
  const bool is_past = allows_past(rule.comparison), is_strict = excludes_equal(rule.comparison);
  if (is_strict && now == (is_past ? kFirstTime : kLastTime)) return {0, -1};
  TimeSpan span;
  if (is_past) {
    span.last = is_strict ? now - 1 : now;
    if (rule.window >= 0 && __builtin_sub_overflow(now, rule.window, &span.first))
      span.first = kFirstTime;
  } else {
    span.first = is_strict ? now + 1 : now;
    if (rule.window >= 0 && __builtin_add_overflow(now, rule.window, &span.last))
      span.last = kLastTime;
  }
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
    const bool writable = (of_edges != nullptr ? of_edges : of_sources)->writable;
    const bool sorted = edges.sorted_by == array && !writable;
    times[t] = {.rule = *rule, .sorted = sorted, .location = graph.store()->location(array)};
    if (!sorted && !writable && !edges.indices.writable && !edges.read_by_row) {
      const bool last = rule->strategy == Strategy::kLast && !edges.indptr.writable;
      (last ? times[t]->by_time : times[t]->codes) =
          &graph.derived().slot((last ? "rows by " : "codes of ") + array + " by " + edges.encoded);
    }
    if (sorted && of_edges != nullptr && !edges.read_by_row)
      times[t]->order = &graph.derived().slot("order of " + array);
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
  const bool of_nodes = has_table(graph.node_types(), time.table);
  if (graph.part() && of_nodes)
    throw_invalid(
        "time is '", time.table,
        "', a table of nodes, which needs a whole graph: a part has not the times of other "
        "nodes; a table of edges will do");
  if (!of_nodes && !has_table(graph.edge_types(), time.table))
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
  const bool windows = std::any_of(seeds.begin(), seeds.end(), has_windows);
  Array times = pool.allocate_array(
      DType::kInt64, windows ? std::vector<int64_t>{count, 2} : std::vector<int64_t>{count});
  auto* time = static_cast<int64_t*>(times.data);
  for (const Seeds& of_type : seeds)
    time = write_times(graph, rule, of_type, windows ? 2 : 1, time);
  return times;
}

std::vector<TimeSpan> seed_spans(const Time& rule, const Array& seed_times) {
  const auto times = seed_times.as<int64_t>();
  const bool windows = seed_times.shape.size() == 2;
  std::vector<TimeSpan> spans(static_cast<size_t>(seed_times.rows()));
  for (size_t i = 0; i < spans.size(); ++i)
    spans[i] = windows ? TimeSpan{times[2 * i], times[2 * i + 1]} : allowed_times(rule, times[i]);
  return spans;
}

}  // namespace ramet
