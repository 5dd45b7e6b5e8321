#include "table_placement.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/system/space.h"
#include "batch_rows.h"
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

// Whether memory could not hold the rows when their store was opened; of a provided table, now.
bool is_beyond_memory(const Graph& graph, const TableRequest& request, const Table& table) {
  if (request.table() != nullptr) return table.rows().bytes() > available_memory().bytes;
  return graph.store()->read_by_row().count(array_name(graph, request)) > 0;
}

TablePlacement on_disk(const Table& table, std::vector<RowSpan> files, std::string why) {
  auto reader = RowReader::open(std::move(files), table.rows().row_bytes());
  why += concat("; ", reader->how(), "; ", std::llround(reader->rows_per_second() / 1e3),
                " thousand single rows a second");
  return {Location::kDisk, std::move(why), std::move(reader)};
}

TablePlacement decided(const Graph& graph, const TableRequest& request, const Table& table) {
  const bool is_provided = request.table() != nullptr;
  if (!is_beyond_memory(graph, request, table))
    return {Location::kInPlace, is_provided ? "the rows are those of a given table"
                                            : "memory could hold it when the store was opened"};
  const std::string found = is_provided ? "memory cannot hold the given table"
                                        : "memory could not hold it when the store was opened";
  if (request.fused) return {Location::kInPlace, found + ", but fused rows are summed in place"};
  try {
    return on_disk(table, files_of(table.rows()), found);
  } catch (const Error& error) {  // in memory alone, say
    return {Location::kInPlace, concat(found, ", and no files can be read: ", error.what())};
  }
}

}  // namespace

TablePlacement placement_of(const Graph& graph, const TableRequest& request, Location wanted) {
  const std::string what = concat("table '", request.name, "' is to be read from a disk, ");
  const bool is_disk = wanted == Location::kDisk;
  if (is_disk && request.pulled() != nullptr) throw_invalid(what, "but has rows on other machines");
  if (is_disk && request.fused) throw_invalid(what, "but fused rows are summed in place");
  if (request.pulled() != nullptr)
    return {Location::kInPlace, "rows in reach are read in place, others are pulled"};
  const Table table = table_of(graph, request);
  if (wanted == Location::kAuto) return decided(graph, request, table);
  if (!is_disk) return {Location::kInPlace, "as asked"};
  std::vector<RowSpan> files;
  try {
    files = files_of(table.rows());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    throw_invalid(what, "but ", error.what());
  }
  return on_disk(table, std::move(files), "as asked");
}

}  // namespace ramet
