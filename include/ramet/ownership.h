// Ownership: which of several ranks (or parts of a store) owns each node of one type: by ranges of
// ids, by a hash of the id, or by a vector that a partitioner made.
//
// Memory: a value that shares the vector's memory and keeps it alive; ranges and hashes take none.
// Threads and forks: immutable; use it from any. Failure: kInvalidArgument for owners that do not
// cover the nodes. A vector may be a file: its entries are compared with the number of parts when
// they are read (kCorrupt).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/graph.h"

namespace ramet {

struct NodeRange {
  int64_t begin = 0, end = 0;
  [[nodiscard]] int64_t size() const { return end - begin; }
};

class Ownership {
 public:
  // Part k owns the nodes bounds[k] <= v < bounds[k + 1]. `bounds`: int64[parts + 1], from 0, never
  // decreasing; copied.
  [[nodiscard]] static Ownership ranges(const Array& bounds);
  // A hash of the node type's name and the node's id names the owner.
  [[nodiscard]] static Ownership hashed(const std::string& type, int64_t num_nodes, int64_t parts);
  // `owners`: uint8 or uint16 [number of nodes]. `location`: its name in errors.
  [[nodiscard]] static Ownership by_vector(Array owners,
                                           int64_t parts,
                                           std::string location = "the vector of owners");

  [[nodiscard]] int64_t parts() const { return parts_; }
  [[nodiscard]] int64_t num_nodes() const { return num_nodes_; }
  [[nodiscard]] bool is_ranges() const { return kind_ == Kind::kRanges; }
  // The source of a vector or a hash: the owners, or an Array without a shape; the vector's name in
  // errors, or the node type.
  [[nodiscard]] const Array& vector() const { return owners_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Of ranges: where parts 1, 2, ... begin, filled up to 2^n - 1. Of a hash: its key.
  [[nodiscard]] std::span<const int64_t> begins() const { return begins_; }
  [[nodiscard]] uint64_t hash_key() const { return key_; }

  // kOutOfRange unless `node` is a node of the type.
  [[nodiscard]] int64_t owner(int64_t node) const;
  // The owners of `nodes`; kOutOfRange unless all are nodes of the type.
  [[nodiscard]] std::vector<uint16_t> owners(std::span<const int64_t> nodes) const;
  // owner[i] = the owner of nodes[i], which the caller has checked against num_nodes().
  void owners(std::span<const int32_t> nodes, uint16_t* owner) const;
  void owners(std::span<const int64_t> nodes, uint16_t* owner) const;

  // A range of ids that contains all nodes of `part`: its range, or all nodes. kOutOfRange unless
  // `part` is a part.
  [[nodiscard]] NodeRange span_of(int64_t part) const;

  // kCorrupt, of an entry of a vector that names no part.
  [[noreturn]] void throw_bad_entry(int64_t node) const;

  // A digest of the whole mapping; ranks that cooperate must have equal digests. Reads a whole
  // vector.
  [[nodiscard]] uint64_t digest() const;

 private:
  enum class Kind : uint8_t { kRanges, kHash, kVector };

  template <typename Id>
  void look_up(std::span<const Id> nodes, uint16_t* owner) const;

  Kind kind_ = Kind::kRanges;
  int64_t parts_ = 1, num_nodes_ = 0;
  std::vector<int64_t> begins_;
  uint64_t key_ = 0;
  Array owners_;  // a vector
  std::string name_;
};

// Ranges of ids with about equally many in-edges and nodes (each counts for half), for a node type
// of a whole `graph`: int64[parts + 1]. Reads a few entries of indptr for each part.
[[nodiscard]] std::vector<int64_t> balanced_ranges(const Graph& graph, int type, int64_t parts);

// The owners of each type's nodes, and the owner in this process.
struct Membership {
  std::vector<Ownership> owners;  // by node type, all with equally many parts: the ranks
  int64_t rank = 0;
  [[nodiscard]] int64_t ranks() const { return owners.front().parts(); }
};

}  // namespace ramet
