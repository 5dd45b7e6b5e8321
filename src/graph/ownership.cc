#include "ramet/ownership.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

void check_parts(int64_t parts) {
  if (parts >= 1 && parts <= kMaxParts) return;
  throw_invalid(parts, " parts, expected 1 to ", kMaxParts);
}

constexpr size_t kFew = 15;  // bounds that are compared one after the other

// How many of `begins` are at most each node: passes over a piece of the nodes, one for each bound,
// which compilers turn into vector comparisons.
template <typename Id>
void count_few(std::span<const int64_t> begins, std::span<const Id> nodes, uint16_t* owner) {
  constexpr size_t kPiece = 1024;
  for (size_t first = 0; first < nodes.size(); first += kPiece) {
    const size_t count = std::min(kPiece, nodes.size() - first);
    const Id* node = nodes.data() + first;
    std::array<Id, kPiece> sum{};
    for (const int64_t begin : begins) {
      if (begin > std::numeric_limits<Id>::max()) break;
      const auto bound = static_cast<Id>(begin);
      for (size_t i = 0; i < count; ++i)
        sum[i] += bound <= node[i] ? 1 : 0;
    }
    for (size_t i = 0; i < count; ++i)
      owner[first + i] = static_cast<uint16_t>(sum[i]);
  }
}

// The same for one node and any number of bounds, 2^n - 1 of them that ascend: no branch depends on
// the node.
uint16_t count_begins(std::span<const int64_t> begins, int64_t node) {
  size_t count = 0;
  for (size_t step = (begins.size() + 1) / 2; step > 0; step /= 2)
    count += begins[count + step - 1] <= node ? step : 0;
  return static_cast<uint16_t>(count);
}

uint16_t scale_hash(uint64_t key, int64_t node, int64_t parts) {
  const uint64_t word = absorb(key, static_cast<uint64_t>(node));
  return static_cast<uint16_t>(scaled_below(word, static_cast<uint64_t>(parts)));
}

// Calls body with the entries of a vector of owners.
template <typename Body>
void with_owners(const Array& owners, Body&& body) {
  if (owners.dtype == DType::kUInt8) return body(static_cast<const uint8_t*>(owners.data));
  return body(static_cast<const uint16_t*>(owners.data));
}

uint64_t digest_bytes(uint64_t key, const char* data, size_t size) {
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof(word), size - at));
    key = absorb(key, word);
  }
  return key;
}

}  // namespace

Ownership Ownership::ranges(const Array& bounds) {
  if (bounds.shape.size() != 1 || bounds.dtype != DType::kInt64 || bounds.rows() < 2)
    throw_invalid("bounds of ranges are ", bounds.describe(), ", expected int64[parts + 1]");
  check_parts(bounds.rows() - 1);
  const auto values = bounds.as<int64_t>();
  if (values.front() != 0)
    throw_invalid("bounds of ranges begin with ", values.front(), ", expected 0");
  const auto falls = std::is_sorted_until(values.begin(), values.end());
  if (falls != values.end())
    throw_invalid("bounds of ranges: entry ", falls - values.begin(), ", ", *falls,
                  ", is less than the one before it");
  Ownership result;
  result.kind_ = Kind::kRanges;
  result.parts_ = bounds.rows() - 1;
  result.num_nodes_ = values.back();
  const auto parts = static_cast<size_t>(result.parts_);
  result.begins_.assign(values.begin() + 1, values.end() - 1);
  result.begins_.resize(std::bit_ceil(parts) - 1, std::numeric_limits<int64_t>::max());
  return result;
}

Ownership Ownership::hashed(const std::string& type, int64_t num_nodes, int64_t parts) {
  check_parts(parts);
  Ownership result;
  result.kind_ = Kind::kHash;
  result.parts_ = parts;
  result.num_nodes_ = num_nodes;
  result.key_ = absorb(static_cast<uint64_t>(Domain::kOwnership), hash_name(encode_name(type)));
  result.name_ = type;
  return result;
}

Ownership Ownership::by_vector(Array owners, int64_t parts, std::string location) {
  check_parts(parts);
  if (owners.shape.size() != 1 || (owners.dtype != DType::kUInt8 && owners.dtype != DType::kUInt16))
    throw_invalid(location, " is ", owners.describe(),
                  ", expected one dimension of uint8 or uint16");
  Ownership result;
  result.kind_ = Kind::kVector;
  result.parts_ = parts;
  result.num_nodes_ = owners.rows();
  result.owners_ = std::move(owners);
  result.name_ = std::move(location);
  return result;
}

int64_t Ownership::owner(int64_t node) const {
  require_index(node, num_nodes_, "node");
  uint16_t result = 0;
  owners(std::span(&node, 1), &result);
  return result;
}

std::vector<uint16_t> Ownership::owners(std::span<const int64_t> nodes) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (static_cast<uint64_t>(nodes[i]) < static_cast<uint64_t>(num_nodes_)) continue;
    throw_error(ErrorCode::kOutOfRange, "nodes[", i, "] = ", nodes[i], " is outside [0, ",
                num_nodes_, ")");
  }
  std::vector<uint16_t> result(nodes.size());
  owners(nodes, result.data());
  return result;
}

void Ownership::owners(std::span<const int32_t> nodes, uint16_t* owner) const {
  look_up(nodes, owner);
}

void Ownership::owners(std::span<const int64_t> nodes, uint16_t* owner) const {
  look_up(nodes, owner);
}

template <typename Id>
void Ownership::look_up(std::span<const Id> nodes, uint16_t* owner) const {
  constexpr size_t kAhead = 32;
  switch (kind_) {
    case Kind::kRanges:
      if (begins_.size() <= kFew) return count_few<Id>(begins_, nodes, owner);
      for (size_t i = 0; i < nodes.size(); ++i)
        owner[i] = count_begins(begins_, nodes[i]);
      return;
    case Kind::kHash:
      for (size_t i = 0; i < nodes.size(); ++i)
        owner[i] = scale_hash(key_, nodes[i], parts_);
      return;
    case Kind::kVector:
      with_owners(owners_, [&](const auto* entries) {
        for (size_t i = 0; i < nodes.size(); ++i) {
          if (i + kAhead < nodes.size()) __builtin_prefetch(&entries[nodes[i + kAhead]]);
          owner[i] = entries[nodes[i]];
          if (owner[i] >= parts_) throw_bad_entry(nodes[i]);
        }
      });
  }
}

void Ownership::throw_bad_entry(int64_t node) const {
  int64_t entry = 0;
  with_owners(owners_, [&](const auto* entries) { entry = entries[node]; });
  throw_corrupt_entry(name_, node, entry, "is outside [0, ", parts_, ")");
}

NodeRange Ownership::span_of(int64_t part) const {
  require_index(part, parts_, "part");
  if (kind_ != Kind::kRanges) return {0, num_nodes_};
  const auto begin_of = [&](int64_t k) {
    if (k == 0) return int64_t{0};
    return k == parts_ ? num_nodes_ : begins_[static_cast<size_t>(k - 1)];
  };
  return {begin_of(part), begin_of(part + 1)};
}

uint64_t Ownership::digest() const {
  uint64_t h = absorb(static_cast<uint64_t>(kind_), static_cast<uint64_t>(parts_));
  h = absorb(absorb(h, static_cast<uint64_t>(num_nodes_)), key_);
  const auto* begins = reinterpret_cast<const char*>(begins_.data());
  h = digest_bytes(h, begins, begins_.size() * sizeof(int64_t));
  if (kind_ != Kind::kVector) return h;
  // The width of an entry is not what it says.
  with_owners(owners_, [&](const auto* entries) {
    constexpr int64_t kPiece = 4096;
    std::vector<uint16_t> piece;
    for (int64_t first = 0; first < num_nodes_; first += kPiece) {
      const int64_t count = std::min(kPiece, num_nodes_ - first);
      piece.assign(entries + first, entries + first + count);
      h = digest_bytes(h, reinterpret_cast<const char*>(piece.data()),
                       piece.size() * sizeof(uint16_t));
    }
  });
  return h;
}

std::vector<int64_t> balanced_ranges(const Graph& graph, int type, int64_t parts) {
  check_parts(parts);
  if (graph.part()) throw_invalid("ranges are those of a whole graph, and this is a part of one");
  const auto& types = graph.node_types();
  require_index(type, static_cast<int64_t>(types.size()), "node type");
  const int64_t num_nodes = types[static_cast<size_t>(type)].num_nodes;
  std::vector<std::span<const int64_t>> offsets;  // of edge types into `type`
  for (const EdgeType& edges : graph.edge_types()) {
    if (edges.dst == type) offsets.push_back(edges.indptr.as<int64_t>());
  }
  // In-edges and nodes below v, as shares of all, so that a type without edges has ranges, too.
  const auto edges_below = [&](int64_t v) {
    double sum = 0;
    for (const auto& indptr : offsets)
      sum += static_cast<double>(indptr[static_cast<size_t>(v)]);
    return sum;
  };
  const double all_edges = std::max(edges_below(num_nodes), 1.0);
  const auto share_below = [&](int64_t v) {
    return edges_below(v) / all_edges +
           static_cast<double>(v) / static_cast<double>(std::max<int64_t>(num_nodes, 1));
  };
  const double all = share_below(num_nodes);
  std::vector<int64_t> bounds{0};
  for (int64_t part = 1; part < parts; ++part) {
    const double target = all * static_cast<double>(part) / static_cast<double>(parts);
    int64_t low = bounds.back(), high = num_nodes;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (share_below(middle) < target) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    bounds.push_back(low);
  }
  bounds.push_back(num_nodes);
  return bounds;
}

}  // namespace ramet
