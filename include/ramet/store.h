// Store: named read-only arrays and node counts, over the files of a folder or over one anonymous
// segment with the same content. The bytes are the in-memory layout: opening maps them and parses
// nothing but headers. docs/format.md describes both forms.
//
// Memory: every process that opens the same store shares its physical pages. An Array handed out
// keeps its mapping alive, so a store may be closed, or deleted from the disk, while arrays live.
// Threads and forks: immutable after construction; use it from any. Failure: open() checks names,
// headers, shapes and file sizes, and throws kNotFound, kCorrupt or kIo. It does no work per
// element: readers check the bounds of what they read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ramet/array.h"

namespace ramet {

enum class OpenMode {
  kRead,         // shared and read-only
  kCopyOnWrite,  // private and writable: pages are shared until they are written
};

// The part of a partitioned graph in a store: index of count, and Graph::fingerprint() of the whole
// store. docs/format.md, section 7.
struct Part {
  int64_t index = 0, count = 1;
  uint64_t whole_fingerprint = 0;
};

inline constexpr int64_t kMaxParts = 65535;  // which part owns a node fits 16 bits

// Where the reverses of an edge type's edges are: in the type of this encoded name. This is the
// type itself where the writer added the reverses; num_input_edges is then the number of edges that
// it was given, whose ids are below it, or 0 where their ids are not kept.
struct Reverse {
  std::string edge_type;
  int64_t num_input_edges = 0;
};

class Store {
 public:
  // Maps the store in the folder `path`.
  [[nodiscard]] static std::shared_ptr<const Store> open(const std::string& path,
                                                         OpenMode mode = OpenMode::kRead);
  // Maps the segment behind the descriptor `fd`, which is duplicated; the caller keeps it.
  [[nodiscard]] static std::shared_ptr<const Store> open_segment(int fd,
                                                                 OpenMode mode = OpenMode::kRead);
  // The arrays of `base`, but of the edge types that `edges` has, those of `edges`, whose rows are
  // in the order of base's. Copies nothing, and keeps both alive. kInvalidArgument where base has
  // no such edge type, and for parts.
  [[nodiscard]] static std::shared_ptr<const Store> overlay(std::shared_ptr<const Store> base,
                                                            std::shared_ptr<const Store> edges);
  virtual ~Store() = default;

  // Maps one of arrays() again, privately and writably. If its file is gone, since the store was
  // replaced or removed, this is a copy in memory; kNoSpace if that does not fit.
  [[nodiscard]] virtual Array copy_on_write(const std::string& name) const = 0;

  // Names as in the folder, without ".npy": "node/paper/feat". Sorted.
  [[nodiscard]] const std::map<std::string, Array>& arrays() const { return arrays_; }
  // Nodes of each node type, by encoded type name. Sorted.
  [[nodiscard]] const std::map<std::string, int64_t>& node_counts() const { return node_counts_; }

  // The dtypes that ramet.txt adds to .npy headers, by array name: kBFloat16, or kInt8 for
  // quantized rows, whose scale is the array "<name>.scale" (scale.h).
  [[nodiscard]] const std::map<std::string, DType>& table_dtypes() const { return table_dtypes_; }

  // By encoded edge type: the int64 table, of the edges or of their sources, by which the writer
  // sorted each of its rows, as an array name. Not checked here.
  [[nodiscard]] const std::map<std::string, std::string>& sorted_rows() const {
    return sorted_rows_;
  }

  // By encoded edge type. Not checked here.
  [[nodiscard]] const std::map<std::string, Reverse>& reverses() const { return reverses_; }

  // Names of the arrays that did not fit memory when the store was opened. They are read page by
  // page, without 2 MiB pages. Empty for a segment.
  [[nodiscard]] const std::set<std::string>& read_by_row() const { return read_by_row_; }

  // nullopt for a whole store.
  [[nodiscard]] const std::optional<Part>& part() const { return part_; }

  // The folder, or "" for a segment.
  [[nodiscard]] const std::string& path() const { return path_; }
  // The segment's descriptor, -1 for a folder. Owned by the Store.
  [[nodiscard]] int segment_fd() const { return segment_fd_; }
  // Device and inode of the folder or segment, to identify the store in handles between processes.
  [[nodiscard]] std::pair<uint64_t, uint64_t> identity() const { return identity_; }
  // Random, from the writer: other contents have another id. nullopt for a segment, and for a store
  // from before there were ids.
  [[nodiscard]] const std::optional<uint64_t>& id() const { return id_; }
  // "path/node/paper/feat.npy" or "segment:node/paper/feat": how errors name an array.
  [[nodiscard]] std::string location(const std::string& array_name) const;

 protected:
  // Throws kNotFound.
  [[nodiscard]] const Array& array_of(const std::string& array_name) const;

  std::map<std::string, Array> arrays_;
  std::map<std::string, int64_t> node_counts_;
  std::map<std::string, DType> table_dtypes_;
  std::map<std::string, std::string> sorted_rows_;
  std::map<std::string, Reverse> reverses_;
  std::set<std::string> read_by_row_;
  std::optional<Part> part_;
  std::optional<uint64_t> id_;
  std::string path_;
  int segment_fd_ = -1;
  std::pair<uint64_t, uint64_t> identity_{0, 0};
};

// Converts a type name to its form in folder names, and back. Any name is possible; "__" separates
// the three parts of an edge type. docs/format.md, section 3.
[[nodiscard]] std::string encode_name(const std::string& name);
[[nodiscard]] std::string decode_name(const std::string& encoded);

}  // namespace ramet
