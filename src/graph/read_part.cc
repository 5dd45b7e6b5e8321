#include "read_part.h"

#include <algorithm>
#include <utility>

#include "owned_bitmap.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kLinesAtOnce = 1 << 12;  // lines of a bitmap

std::string owner_name(const NodeType& type) {
  return "owner/" + encode_name(type.name);
}
std::string owned_name(const NodeType& type) {
  return "owned/" + encode_name(type.name);
}

// Arrays of parts where they have no meaning: of no node type, or in a whole store.
void check_part_arrays(const Store& store, const std::vector<NodeType>& types) {
  for (const auto& entry : store.arrays()) {
    const std::string& name = entry.first;
    if (!name.starts_with("owner/") && !name.starts_with("owned/")) continue;
    if (!store.part())
      throw_corrupt(store.location(name), "is of a part, but ramet.txt has no line of one");
    const bool known = std::any_of(types.begin(), types.end(), [&](const NodeType& type) {
      return name == owner_name(type) || name == owned_name(type);
    });
    if (!known)
      throw_corrupt(store.location(name), "is of a node type that ramet.txt does not declare");
  }
}

const Array* find(const Store& store, const std::string& name) {
  const auto it = store.arrays().find(name);
  return it == store.arrays().end() ? nullptr : &it->second;
}

void require_shape(const Array& array, std::vector<int64_t> shape, const std::string& location) {
  if (array.shape == shape) return;
  const Array expected{nullptr, array.dtype, std::move(shape), nullptr, false};
  throw_corrupt(location, "holds ", array.describe(), ", expected ", expected.describe());
}

// Bounds of ranges: one for each part, and one more.
NodeRows read_range(const Store& store, const NodeType& type, NodeRows::Context context) {
  require_shape(type.owner, {context.part.count + 1}, context.owner_location);
  const auto bounds = type.owner.as<int64_t>();
  if (bounds.front() != 0)
    throw_corrupt_entry(context.owner_location, 0, bounds.front(), "is not 0");
  for (size_t k = 1; k < bounds.size(); ++k) {
    if (bounds[k] >= bounds[k - 1]) continue;
    throw_corrupt_entry(context.owner_location, static_cast<int64_t>(k), bounds[k],
                        "is less than the ", bounds[k - 1], " before it");
  }
  if (bounds.back() != type.num_nodes)
    throw_corrupt_entry(context.owner_location, context.part.count, bounds.back(),
                        "is not the number of nodes, ", type.num_nodes);
  if (find(store, owned_name(type)) != nullptr)
    throw_corrupt(context.owned_location, "is there, but the part owns a range of nodes");
  const auto k = static_cast<size_t>(context.part.index);
  return NodeRows::range(bounds[k], bounds[k + 1], std::move(context));
}

NodeRows read_bitmap(const Store& store, const NodeType& type, NodeRows::Context context) {
  require_shape(type.owner, {type.num_nodes}, context.owner_location);
  const Array* owned = find(store, owned_name(type));
  if (owned == nullptr) throw_corrupt(context.owned_location, "is missing");
  if (owned->dtype != DType::kUInt64)
    throw_corrupt(context.owned_location, "holds ", owned->describe(), ", expected uint64");
  const int64_t lines = num_lines(type.num_nodes);
  require_shape(*owned, {lines, kLineWords}, context.owned_location);
  uint64_t num_rows = 0;
  if (lines > 0) {
    const uint64_t* last = owned->as<uint64_t>().data() + (lines - 1) * kLineWords;
    num_rows = last[0] + static_cast<uint64_t>(count_bits(last));
  }
  if (num_rows > static_cast<uint64_t>(type.num_nodes))
    throw_corrupt(context.owned_location, "the last line makes the part own ", num_rows, " of ",
                  type.num_nodes, " nodes");
  return NodeRows::bitmap(*owned, type.num_nodes, static_cast<int64_t>(num_rows),
                          std::move(context));
}

NodeRows read_rows(const Store& store, NodeType& type) {
  NodeRows::Context context{*store.part(),
                            type.name,
                            {},
                            store.location(owner_name(type)),
                            store.location(owned_name(type))};
  const Array* owner = find(store, owner_name(type));
  if (owner == nullptr) throw_corrupt(context.owner_location, "is missing");
  type.owner = context.owner = *owner;
  if (owner->dtype == DType::kInt64) return read_range(store, type, std::move(context));
  if (owner->dtype == DType::kUInt8 || owner->dtype == DType::kUInt16)
    return read_bitmap(store, type, std::move(context));
  throw_corrupt(context.owner_location, "holds ", owner->describe(),
                ", expected int64, uint8 or uint16");
}

// Calls body with the entries of a vector of owners.
template <typename Body>
void with_owner_span(const Array& owners, Body&& body) {
  if (owners.dtype == DType::kUInt8) return body(owners.as<uint8_t>());
  return body(owners.as<uint16_t>());
}

// Each line against the owners of its nodes, and its count against the line before it.
template <typename Owners>
void check_lines(Owners owners,
                 const uint64_t* lines,
                 const Part& part,
                 const std::string& owner_location,
                 const std::string& owned_location,
                 Faults& faults) {
  const auto num_nodes = static_cast<int64_t>(owners.size());
  const auto check_line = [&](int64_t l, ArrayFaults& found) {
    const uint64_t* line = lines + l * kLineWords;
    const int64_t first = l * kLineBits;
    const uint64_t before =
        l == 0 ? 0 : line[-kLineWords] + static_cast<uint64_t>(count_bits(line - kLineWords));
    uint64_t expected[kLineWords];
    fill_line(expected, static_cast<int64_t>(before), std::min(kLineBits, num_nodes - first),
              [&](int64_t bit) {
                const int64_t owner = owners[static_cast<size_t>(first + bit)];
                if (owner >= part.count)
                  found.add_entry(owner_location, first + bit, owner, "is outside [0, ", part.count,
                                  ")");
                return owner == part.index;
              });
    for (int64_t w = 0; w < kLineWords; ++w)
      if (line[w] != expected[w])
        found.add(owned_location, ", line ", l, ", word ", w, ": ", line[w], ", expected ",
                  expected[w]);
  };
  const auto check = [&](int64_t begin, int64_t end, ArrayFaults& found) {
    for (int64_t l = begin; l < end; ++l)
      check_line(l, found);
  };
  constexpr int64_t kLineBytes = kLineWords * int64_t(sizeof(uint64_t));
  faults.check(owned_location, num_lines(num_nodes), kLineBytes, check, kLinesAtOnce);
}

}  // namespace

void read_part(const Store& store, std::vector<NodeType>& types) {
  check_part_arrays(store, types);
  for (NodeType& type : types) {
    type.rows = store.part() ? read_rows(store, type) : NodeRows::all(type.num_nodes);
    type.num_rows = type.rows.num_rows();
  }
}

void check_owners(const Graph& graph, Faults& faults) {
  if (!graph.part()) return;
  const Store& store = *graph.store();
  for (const NodeType& type : graph.node_types()) {
    if (type.owner.dtype == DType::kInt64) continue;  // ranges: all was read when it was opened
    const uint64_t* lines = store.arrays().at(owned_name(type)).as<uint64_t>().data();
    with_owner_span(type.owner, [&](auto owners) {
      check_lines(owners, lines, *graph.part(), store.location(owner_name(type)),
                  store.location(owned_name(type)), faults);
    });
  }
}

}  // namespace ramet
