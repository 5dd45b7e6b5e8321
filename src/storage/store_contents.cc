#include "store_contents.h"

#include <set>

#include "array_name.h"
#include "ramet/error.h"
#include "shape.h"
#include "table_dtypes.h"
#include "text.h"

namespace ramet {

namespace {

void check_shape(const std::string& name, const Array& array) {
  const std::string problem = shape_problem(array.dtype, array.shape);
  if (!problem.empty()) throw_invalid("the array ", quoted(name), " ", problem);
}

void check_node_count(const std::string& type, int64_t count) {
  constexpr int64_t kMaxCount = int64_t{1} << 62;
  try {
    static_cast<void>(decode_name(type));
  } catch (const Error& error) {
    throw_invalid("node type: ", error.what());
  }
  if (count < 0 || count > kMaxCount)
    throw_invalid("node type ", type, " has ", count, " nodes; 0 to 2^62 are possible");
}

void check_sorted_rows(const StoreContents& contents, const std::set<std::string>& names) {
  for (const auto& [edge_type, by] : contents.sorted_rows) {
    for (const std::string& name : {"edge/" + edge_type + "/indices", by})
      if (names.count(name) == 0)
        throw_invalid("rows of ", quoted(edge_type), " are sorted by ", quoted(by),
                      ", but there is no array ", quoted(name));
  }
}

void check_reverses(const StoreContents& contents, const std::set<std::string>& names) {
  for (const auto& [edge_type, reverse] : contents.reverses) {
    for (const std::string& type : {edge_type, reverse.edge_type})
      if (names.count("edge/" + type + "/indices") == 0)
        throw_invalid(quoted(reverse.edge_type), " has the reverses of ", quoted(edge_type),
                      ", but there is no edge type ", quoted(type));
  }
}

void check_part(const std::optional<Part>& part) {
  if (!part) return;
  if (part->count < 1 || part->count > kMaxParts)
    throw_invalid(part->count, " parts, expected 1 to ", kMaxParts);
  if (part->index < 0 || part->index >= part->count)
    throw_invalid("part ", part->index, " is outside [0, ", part->count, ")");
}

}  // namespace

void check_contents(const StoreContents& contents) {
  for (const auto& [type, count] : contents.node_counts)
    check_node_count(type, count);
  std::set<std::string> names;
  for (const auto& [name, array] : contents.arrays) {
    const std::string problem = array_name_problem(name);
    if (!problem.empty()) throw_invalid("array name ", quoted(name), ": ", problem);
    if (!names.insert(name).second) throw_invalid("the array ", quoted(name), " is given twice");
    check_shape(name, array);
    if (!array.data && array_bytes(array.dtype, array.shape) > 0 &&
        contents.to_fill.count(name) == 0)
      throw_invalid("the array ", quoted(name), " has no data");
  }
  check_sorted_rows(contents, names);
  check_reverses(contents, names);
  check_part(contents.part);
  check_scales(contents);
  static_cast<void>(contents.bytes());
}

int64_t StoreContents::bytes() const {
  int64_t total = 0;
  for (const auto& [name, array] : arrays) {
    check_shape(name, array);
    // 2^62: room for headers and for rounding up.
    if (__builtin_add_overflow(total, array_bytes(array.dtype, array.shape), &total) ||
        total > int64_t{1} << 62)
      throw_invalid("the arrays up to ", quoted(name), " have more than 2^62 bytes");
  }
  return total;
}

}  // namespace ramet
