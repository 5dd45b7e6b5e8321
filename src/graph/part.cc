#include "ramet/part.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "owned_bitmap.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kLinesGrain = 256;
constexpr int64_t kRowsGrain = 4096;

Array allocate_shared(DType dtype, std::vector<int64_t> shape) {
  return BufferPool::shared()->allocate_array(dtype, std::move(shape));
}

// Bits of the lines from `begin` to `end`; the first word of each counts those of its own.
void mark_lines(
    const Ownership& ownership, int64_t part, int64_t begin, int64_t end, uint64_t* lines) {
  int64_t nodes[kLineBits];
  uint16_t owners[kLineBits];
  for (int64_t l = begin; l < end; ++l) {
    const int64_t first = l * kLineBits;
    const int64_t count = std::min(kLineBits, ownership.num_nodes() - first);
    std::iota(nodes, nodes + count, first);
    ownership.owners(std::span<const int64_t>(nodes, static_cast<size_t>(count)), owners);
    uint64_t* line = lines + l * kLineWords;
    fill_line(line, 0, count, [&](int64_t bit) { return owners[bit] == part; });
    line[0] = static_cast<uint64_t>(count_bits(line));
  }
}

// From the counts of each line to those of all lines before it; returns the sum.
int64_t sum_lines(uint64_t* lines, int64_t count) {
  uint64_t sum = 0;
  for (int64_t l = 0; l < count; ++l) {
    const uint64_t own = lines[l * kLineWords];
    lines[l * kLineWords] = sum;
    sum += own;
  }
  return static_cast<int64_t>(sum);
}

void list_line(const uint64_t* line, int64_t first, int64_t* nodes) {
  int64_t* out = nodes + line[0];
  for_each_bit(line, [&](int64_t bit) { *out++ = first + bit; });
}

void require_row(const EdgeType& edges, int64_t node, int64_t begin, int64_t end) {
  const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(edges.num_edges()) &&
                    static_cast<uint64_t>(begin) <= static_cast<uint64_t>(end);
  if (fits) return;
  throw_error(ErrorCode::kCorrupt, edges.indptr_location, ", entry ", node, ": the row from ",
              begin, " to ", end, " is outside the ", edges.num_edges(), " edges");
}

// Offsets of the rows of `nodes` when they stand behind each other.
Array gather_indptr(const EdgeType& edges, std::span<const int64_t> nodes) {
  const auto indptr = edges.indptr.as<int64_t>();
  Array result = allocate_shared(DType::kInt64, {static_cast<int64_t>(nodes.size()) + 1});
  auto* offsets = static_cast<int64_t*>(result.data);
  offsets[0] = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<uint64_t>(nodes[i]);
    if (node >= indptr.size() - 1)
      throw_error(ErrorCode::kOutOfRange, "nodes[", i, "] = ", nodes[i], " is outside [0, ",
                  indptr.size() - 1, ")");
    const int64_t begin = indptr[node], end = indptr[node + 1];
    require_row(edges, nodes[i], begin, end);
    offsets[i + 1] = offsets[i] + (end - begin);
  }
  return result;
}

// Calls body(to, from, count) for the rows of `nodes`: `count` edges at `from` in the graph are
// those at `to` in the part.
template <typename Body>
void for_each_row(const EdgeType& edges,
                  std::span<const int64_t> nodes,
                  const Array& indptr,
                  int threads,
                  Body&& body) {
  const auto in_graph = edges.indptr.as<int64_t>(), in_part = indptr.as<int64_t>();
  const auto count = static_cast<int64_t>(nodes.size());
  parallel_for(count, kRowsGrain, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      // The file may have changed since its rows were compared with the number of edges.
      const int64_t length = in_part[i + 1] - in_part[i];
      const int64_t from = std::clamp<int64_t>(in_graph[static_cast<size_t>(nodes[i])], 0,
                                               edges.num_edges() - length);
      body(in_part[i], from, length);
    }
  });
}

template <typename Id>
void require_ids(const EdgeType& edges, std::span<const Id> ids, int64_t position, int64_t bound) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<uint64_t>(ids[i]) < static_cast<uint64_t>(bound)) continue;
    throw_corrupt_entry(edges.indices_location, position + static_cast<int64_t>(i), ids[i],
                        "is outside [0, ", bound, ")");
  }
}

// The cut edges of rows `begin` to `end`, whose edges stand behind each other.
template <typename Id>
int64_t count_cut_rows(const EdgeType& edges,
                       std::span<const Id> indices,
                       const Ownership& sources,
                       const Ownership& destinations,
                       int64_t begin,
                       int64_t end) {
  const auto* indptr = edges.indptr.as<int64_t>().data();
  std::vector<int64_t> nodes(static_cast<size_t>(end - begin));
  std::iota(nodes.begin(), nodes.end(), begin);
  std::vector<uint16_t> of_node(nodes.size()), of_source;
  destinations.owners(nodes, of_node.data());
  int64_t cut = 0;
  for (int64_t v = begin; v < end; ++v) {
    const int64_t first = indptr[v], last = indptr[v + 1];
    require_row(edges, v, first, last);
    const auto row = indices.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    require_ids(edges, row, first, sources.num_nodes());
    of_source.resize(row.size());
    sources.owners(row, of_source.data());
    cut += std::count_if(of_source.begin(), of_source.end(), [&](uint16_t owner) {
      return owner != of_node[static_cast<size_t>(v - begin)];
    });
  }
  return cut;
}

}  // namespace

OwnedBitmap owned_bitmap(const Ownership& ownership, int64_t part, int threads) {
  require_index(part, ownership.parts(), "part");
  const int64_t count = num_lines(ownership.num_nodes());
  OwnedBitmap owned;
  owned.lines = allocate_shared(DType::kUInt64, {count, kLineWords});
  auto* lines = static_cast<uint64_t*>(owned.lines.data);
  parallel_for(count, kLinesGrain, threads,
               [&](int64_t begin, int64_t end) { mark_lines(ownership, part, begin, end, lines); });
  owned.count = sum_lines(lines, count);
  return owned;
}

OwnedNodes owned_nodes(const Ownership& ownership, int64_t part, int threads) {
  const OwnedBitmap bitmap = owned_bitmap(ownership, part, threads);
  OwnedNodes owned{allocate_shared(DType::kInt64, {bitmap.count}), bitmap.lines};
  const uint64_t* lines = bitmap.lines.as<uint64_t>().data();
  auto* nodes = static_cast<int64_t*>(owned.nodes.data);
  parallel_for(bitmap.lines.rows(), kLinesGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; ++l)
      list_line(lines + l * kLineWords, l * kLineBits, nodes);
  });
  return owned;
}

PartEdges in_edges(const EdgeType& edges, std::span<const int64_t> nodes, int threads) {
  PartEdges part;
  part.indptr = gather_indptr(edges, nodes);
  const int64_t count = part.indptr.as<int64_t>().back();
  const bool narrow = edges.has_edge_ids()
                          ? edges.edge_ids.dtype == DType::kInt32
                          : edges.num_edges() <= std::numeric_limits<int32_t>::max();
  part.indices = allocate_shared(edges.indices.dtype, {count});
  part.edge_ids = allocate_shared(narrow ? DType::kInt32 : DType::kInt64, {count});
  if (!edges.tables.empty()) part.position = allocate_shared(DType::kInt64, {count});

  const auto copy_rows = [&](const auto stored, const Array& out) {
    using Id = std::remove_cvref_t<decltype(stored[0])>;
    for_each_row(edges, nodes, part.indptr, threads, [&](int64_t to, int64_t from, int64_t length) {
      std::copy_n(stored.data() + from, length, static_cast<Id*>(out.data) + to);
    });
  };
  const auto count_positions = [&](auto* out) {
    using Id = std::remove_pointer_t<decltype(out)>;
    for_each_row(edges, nodes, part.indptr, threads, [&](int64_t to, int64_t from, int64_t length) {
      std::iota(out + to, out + to + length, static_cast<Id>(from));
    });
  };
  with_ids(edges.indices, [&](auto stored) { copy_rows(stored, part.indices); });
  if (edges.has_edge_ids()) {
    with_ids(edges.edge_ids, [&](auto stored) { copy_rows(stored, part.edge_ids); });
  } else if (narrow) {
    count_positions(static_cast<int32_t*>(part.edge_ids.data));
  } else {
    count_positions(static_cast<int64_t*>(part.edge_ids.data));
  }
  if (!edges.tables.empty()) count_positions(static_cast<int64_t*>(part.position.data));
  return part;
}

int64_t count_cut(const EdgeType& edges,
                  const Ownership& sources,
                  const Ownership& destinations,
                  int threads) {
  const int64_t num_rows = edges.indptr.rows() - 1;
  if (destinations.num_nodes() != num_rows)
    throw_invalid("owners of ", destinations.num_nodes(), " destinations, but ",
                  edges.indptr_location, " has ", num_rows, " rows");
  std::atomic<int64_t> cut = 0;
  with_ids(edges.indices, [&](auto indices) {
    parallel_for(num_rows, kRowsGrain, threads, [&](int64_t begin, int64_t end) {
      cut += count_cut_rows(edges, indices, sources, destinations, begin, end);
    });
  });
  return cut;
}

}  // namespace ramet
