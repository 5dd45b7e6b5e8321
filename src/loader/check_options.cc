#include "check_options.h"

#include "batch_rows.h"
#include "ramet/error.h"

namespace ramet {
namespace {

void check_inputs(const Array& ids, const NodeType& type) {
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

void check_times(const LoaderOptions& options, const NodeType& type) {
  const Array& times = options.input_times;
  if (!options.sample.time)
    throw_invalid("input_time is ", times.describe(), ", but there is no time to compare it with");
  if (times.shape.size() != 1 || times.dtype != DType::kInt64)
    throw_invalid("input_time is ", times.describe(), ", expected one dimension of int64");
  const bool all = options.input_nodes.data == nullptr;
  const int64_t expected = all ? type.num_nodes : options.input_nodes.rows();
  if (times.rows() != expected)
    throw_invalid("input_time has ", times.rows(), " entries, expected ", expected,
                  ", one for each input node");
}

void check_table(const TableRequest& request, const Graph& graph, int seed_type) {
  if (request.at_seeds && (request.is_of_edges() || request.node_type != seed_type))
    throw_invalid("table '", request.name,
                  "' is asked for at the seeds, but is not of their node type");
  if (request.is_of_edges())
    require_index(request.edge_type, std::ssize(graph.edge_types()), "edge type");
  else
    require_index(request.node_type, std::ssize(graph.node_types()), "node type");
  static_cast<void>(table_of(graph, request));
}

void check_device(const DeviceOptions& device, size_t num_tables) {
  require_at_least(device.index, 0, "device");
  require_at_least(device.cache_rows, 0, "cache_rows");
  require_at_least(device.max_sms, 0, "max_sms");
  if (!device.tables.empty() && device.tables.size() != num_tables)
    throw_invalid("placements of ", device.tables.size(), " tables for ", num_tables);
}

}  // namespace

void check(const LoaderOptions& options, const Graph& graph) {
  check(options.sample, graph);
  require_index(options.seed_type, std::ssize(graph.node_types()), "node type");
  require_at_least(options.threads, 0, "threads");
  require_at_most(options.threads, kMaxThreads, "threads");
  require_at_least(options.prefetch, 0, "prefetch");
  require_at_most(options.prefetch, kMaxPrefetch, "prefetch");
  const NodeType& type = graph.node_types()[static_cast<size_t>(options.seed_type)];
  if (options.input_nodes.data != nullptr) check_inputs(options.input_nodes, type);
  if (options.input_times.data != nullptr) check_times(options, type);
  for (const TableRequest& request : options.tables)
    check_table(request, graph, options.seed_type);
  if (options.device.index != kHost) check_device(options.device, options.tables.size());
}

void require_at_least(int64_t value, int64_t least, const char* name) {
  if (value < least) throw_invalid(name, " is ", value, ", expected at least ", least);
}

void require_at_most(int64_t value, int64_t most, const char* name) {
  if (value > most) throw_invalid(name, " is ", value, ", expected at most ", most);
}

}  // namespace ramet
