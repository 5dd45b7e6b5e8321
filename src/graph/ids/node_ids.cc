#include "ramet/node_ids.h"

#include <algorithm>
#include <set>

#include "base/parallel.h"
#include "base/utf8.h"
#include "graph/faults.h"
#include "graph/ids/id_views.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/pages.h"

namespace ramet {
namespace {

constexpr size_t kSideBySide = 64;  // look-ups that wait for memory together
constexpr int64_t kLookupGrain = 1 << 12;
constexpr int64_t kReadGrain = 1 << 16;

void require(const Array& array, bool is_of_dtype, int64_t rows, const std::string& location) {
  if (array.shape.size() != 1 || !is_of_dtype)
    throw_corrupt(location, "holds ", array.describe(), ", which users' ids do not have there");
  if (array.rows() != rows) throw_corrupt(location, "has ", array.rows(), " rows, expected ", rows);
}

void require_offsets(const IdList& ids, const std::string& location) {
  const auto offsets = ids.offsets.as<int64_t>();
  if (offsets.front() != 0) throw_corrupt_entry(location, 0, offsets.front(), "is not 0");
  if (offsets.back() != ids.values.rows())
    throw_corrupt_entry(location, ids.offsets.rows() - 1, offsets.back(),
                        "is not the number of bytes of text, ", ids.values.rows());
}

// The node whose id is at `rank` of all ids in order.
template <typename Position>
size_t node_at(std::span<const Position> order, size_t rank, const std::string& location) {
  const auto node = static_cast<size_t>(order[rank]);
  if (node >= order.size())
    throw_corrupt_entry(location, static_cast<int64_t>(rank), order[rank], "is outside [0, ",
                        order.size(), ")");
  return node;
}

// Finds up to kSideBySide ids. All bisections take the same steps, so each step asks for the memory
// of all of them before it reads the first.
template <typename Ids, typename Position>
void find_some(const Ids& ids,
               std::span<const Position> order,
               const std::string& order_location,
               const Ids& wanted,
               size_t first,
               std::span<int64_t> positions) {
  size_t begins[kSideBySide] = {}, nodes[kSideBySide];
  const size_t count = positions.size();
  const auto read_nodes = [&](size_t step) {
    for (size_t i = 0; i < count; ++i)
      prefetch(&order[begins[i] + step]);
    for (size_t i = 0; i < count; ++i)
      ids.prefetch_entry(nodes[i] = node_at(order, begins[i] + step, order_location));
    for (size_t i = 0; i < count; ++i)
      ids.prefetch_bytes(nodes[i]);
  };
  for (size_t length = order.size(); length > 1;) {
    const size_t half = length / 2;
    read_nodes(half);
    for (size_t i = 0; i < count; ++i)
      if (ids[nodes[i]] <= wanted[first + i]) begins[i] += half;
    length -= half;
  }
  read_nodes(0);
  for (size_t i = 0; i < count; ++i)
    positions[i] = ids[nodes[i]] == wanted[first + i] ? static_cast<int64_t>(nodes[i]) : -1;
}

[[noreturn]] void throw_not_utf8(const std::string& location, size_t node) {
  throw_corrupt(location, "the id of node ", node, " is not UTF-8");
}

void check_text(const IntegerIds&, int64_t, int64_t, const std::string&, ArrayFaults&) {}

void check_text(const TextIds& ids,
                int64_t begin,
                int64_t end,
                const std::string& location,
                ArrayFaults& found) {
  const auto first = static_cast<size_t>(begin), last = static_cast<size_t>(end) - 1;
  try {
    const std::string_view until = ids[last];
    read_ahead(ids[first].data(), until.data() + until.size() - ids[first].data());
  } catch (const Error&) {  // found below
  }
  for (size_t i = first; i <= last; ++i) {
    try {
      if (!is_utf8(ids[i])) throw_not_utf8(location, i);
    } catch (const Error& error) {
      found.add(error.what());
    }
  }
}

// True, too, where check_text() has found that one of them is none.
template <typename Ids>
bool ascend(const Ids& ids, size_t before, size_t node) {
  try {
    return ids[before] < ids[node];
  } catch (const Error&) {
    return true;
  }
}

template <typename Position>
void check_order(const auto& ids,
                 std::span<const Position> order,
                 int64_t begin,
                 int64_t end,
                 const std::string& location,
                 ArrayFaults& found) {
  const auto is_node = [&](Position node) {
    return node >= 0 && static_cast<size_t>(node) < order.size();
  };
  for (int64_t i = begin; i < end; ++i) {
    const Position node = order[static_cast<size_t>(i)];
    const Position before = i == 0 ? Position{-1} : order[static_cast<size_t>(i) - 1];
    if (!is_node(node))
      found.add_entry(location, i, node, "is outside [0, ", order.size(), ")");
    else if (is_node(before) &&
             !ascend(ids, static_cast<size_t>(before), static_cast<size_t>(node)))
      found.add_entry(location, i, node, "is a node whose id is not above that of node ", before,
                      " before it");
  }
}

}  // namespace

NodeIds::NodeIds(const Store& store, const std::string& folder, int64_t num_nodes) {
  std::set<std::string> unread;
  for (const auto& entry : store.arrays())
    if (entry.first.starts_with(folder + "/")) unread.insert(entry.first.substr(folder.size() + 1));
  const auto take = [&](const std::string& file, std::string& location) {
    location = store.location(folder + "/" + file);
    if (unread.erase(file) == 0) throw_corrupt(location, "is missing");
    return store.arrays().at(folder + "/" + file);
  };
  order_ = take("order", order_location_);
  require(order_, order_.dtype == DType::kInt32 || order_.dtype == DType::kInt64, num_nodes,
          order_location_);
  if (unread.count("value") > 0) {
    ids_.values = take("value", values_location_);
    const DType dtype = ids_.values.dtype;
    require(ids_.values, dtype == DType::kInt64 || dtype == DType::kUInt64, num_nodes,
            values_location_);
    kind_ = name(dtype);
  } else {
    kind_ = unread.count("tuple") > 0 ? "tuple" : "text";
    ids_.values = take(kind_, values_location_);
    ids_.offsets = take("offset", offsets_location_);
    require(ids_.values, ids_.values.dtype == DType::kUInt8, ids_.values.rows(), values_location_);
    require(ids_.offsets, ids_.offsets.dtype == DType::kInt64, num_nodes + 1, offsets_location_);
    require_offsets(ids_, offsets_location_);
  }
  for (const std::string& file : unread)
    throw_corrupt(store.location(folder + "/" + file), "is no array of users' ids");
}

template <typename Body>
void NodeIds::with_ids_in(const IdList& list, Body&& body) const {
  if (list.values.dtype != ids_.values.dtype ||
      (list.offsets.data == nullptr) != (ids_.offsets.data == nullptr))
    throw_invalid("ids are ", list.values.describe(), ", expected ", kind_);
  if (list.offsets.data == nullptr)
    body(IntegerIds(list.values.data, list.values.rows(), list.values.dtype));
  else
    body(TextIds(list.values.data, list.values.rows(), list.offsets.as<int64_t>().data(),
                 list.offsets.rows() - 1, offsets_location_));
}

void NodeIds::find(const IdList& list, std::span<int64_t> positions, int threads) const {
  require_room(list, positions.size());
  const auto count = static_cast<int64_t>(positions.size());
  if (order_.rows() == 0) std::fill(positions.begin(), positions.end(), -1);
  if (order_.rows() == 0 || count == 0) return;
  with_ids_in(ids_, [&](const auto& ids) {
    with_ids_in(list, [&](const auto& wanted) {
      if constexpr (std::is_same_v<decltype(ids), decltype(wanted)>)
        with_ids(order_, [&](auto order) {
          parallel_for(count, kLookupGrain, threads, [&](int64_t begin, int64_t end) {
            for (auto first = static_cast<size_t>(begin); first < static_cast<size_t>(end);
                 first += kSideBySide)
              find_some(ids, order, order_location_, wanted, first,
                        positions.subspan(first,
                                          std::min(kSideBySide, static_cast<size_t>(end) - first)));
          });
        });
    });
  });
}

IdList NodeIds::of(std::span<const int64_t> positions, int threads) const {
  const auto count = static_cast<int64_t>(positions.size());
  for (const int64_t position : positions)
    require_index(position, order_.rows(), "the position of a node");
  BufferPool& pool = *BufferPool::shared();
  IdList result;
  with_ids_in(ids_, [&](const auto& ids) {
    using Id = typename std::remove_cvref_t<decltype(ids)>::Id;
    const auto at = [&](int64_t i) {
      return static_cast<size_t>(positions[static_cast<size_t>(i)]);
    };
    if constexpr (std::is_same_v<Id, uint64_t>) {
      result.values = pool.allocate_array(ids_.values.dtype, {count});
      const auto values = ids_.values.as<uint64_t>();
      parallel_for(count, kReadGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          static_cast<uint64_t*>(result.values.data)[i] = values[at(i)];
      });
    } else {
      result.offsets = pool.allocate_array(DType::kInt64, {count + 1});
      auto* const offsets = static_cast<int64_t*>(result.offsets.data);
      offsets[0] = 0;
      for (int64_t i = 0; i < count; ++i)
        offsets[i + 1] = offsets[i] + static_cast<int64_t>(ids[at(i)].size());
      result.values = pool.allocate_array(DType::kUInt8, {offsets[count]});
      parallel_for(count, kReadGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const std::string_view id = ids[at(i)];
          if (!is_utf8(id)) throw_not_utf8(values_location_, at(i));
          id.copy(static_cast<char*>(result.values.data) + offsets[i],
                  static_cast<size_t>(offsets[i + 1] - offsets[i]));
        }
      });
    }
  });
  return result;
}

// Ids that ascend are distinct, so the order names each node once.
void NodeIds::check(Faults& faults) const {
  with_ids_in(ids_, [&](const auto& ids) {
    with_ids(order_, [&](auto order) {
      const auto check = [&](int64_t begin, int64_t end, ArrayFaults& found) {
        read_ahead(&order[static_cast<size_t>(begin)], (end - begin) * item_size(order_.dtype));
        check_text(ids, begin, end, values_location_, found);
        check_order(ids, order, begin, end, order_location_, found);
      };
      faults.check(order_location_, order_.rows(), item_size(order_.dtype), check, kReadGrain);
    });
  });
}

}  // namespace ramet
