// Store: named read-only arrays and node counts, over the files of a folder or over one anonymous
// segment with the same content. The bytes are the in-memory layout: opening maps them and parses
// nothing but headers. docs/format.md describes both forms.
//
// Memory: every process that opens the same store shares its physical pages. An Array handed out
// keeps its mapping alive, so a store may be closed, or deleted from the disk, while arrays live.
// Threads and forks: immutable after construction; use it from any.
// Failure: open() checks names, headers, shapes and file sizes, and throws kNotFound, kCorrupt or
// kIo. It does no work per element: whoever reads an element bounds what it reads.
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

// Which part of a partitioned graph a store holds: index of count, and Graph::fingerprint() of the
// whole store. docs/format.md, section 7.
struct Part {
  int64_t index = 0, count = 1;
  uint64_t whole_fingerprint = 0;
};

inline constexpr int64_t kMaxParts = 65535;  // which part owns a node fits 16 bits

class Store {
 public:
  // Maps the store in the folder `path`.
  [[nodiscard]] static std::shared_ptr<const Store> open(const std::string& path,
                                                         OpenMode mode = OpenMode::kRead);
  // Maps the segment behind the descriptor `fd`, which is duplicated, not taken.
  [[nodiscard]] static std::shared_ptr<const Store> open_segment(int fd,
                                                                 OpenMode mode = OpenMode::kRead);
  virtual ~Store() = default;

  // Maps one of arrays() again, privately and writably. Where its file is gone, since the store was
  // replaced or removed, this is a copy in memory; kNoSpace where that does not fit.
  [[nodiscard]] virtual Array copy_on_write(const std::string& name) const = 0;

  // Names as in the folder, without ".npy": "node/paper/feat". Sorted.
  [[nodiscard]] const std::map<std::string, Array>& arrays() const { return arrays_; }
  // Nodes of each node type, by encoded type name. Sorted.
  [[nodiscard]] const std::map<std::string, int64_t>& node_counts() const { return node_counts_; }

  // Tables of which ramet.txt says more than .npy can, by array name: kBFloat16, or kInt8 for
  // quantized rows, whose scale is the array "<name>.scale" (scale.h).
  [[nodiscard]] const std::map<std::string, DType>& table_dtypes() const { return table_dtypes_; }

  // Names of the arrays that memory could not hold when the store was opened: a page of them is
  // read alone when it is touched, and none is a page of 2 MiB. Empty for a segment.
  [[nodiscard]] const std::set<std::string>& read_by_row() const { return read_by_row_; }

  // Nothing for a whole store.
  [[nodiscard]] const std::optional<Part>& part() const { return part_; }

  // The folder, or "" for a segment.
  [[nodiscard]] const std::string& path() const { return path_; }
  // The segment's descriptor, -1 for a folder. Owned by the Store.
  [[nodiscard]] int segment_fd() const { return segment_fd_; }
  // Device and inode of the folder or segment: which store it is, for handles between processes.
  [[nodiscard]] std::pair<uint64_t, uint64_t> identity() const { return identity_; }
  // Drawn by the writer: another content has another id. Nothing for a segment, and for a store
  // from before there were ids.
  [[nodiscard]] const std::optional<uint64_t>& id() const { return id_; }
  // "path/node/paper/feat.npy" or "segment:node/paper/feat": how errors name an array.
  [[nodiscard]] std::string place(const std::string& array_name) const;

 protected:
  // Throws kNotFound.
  [[nodiscard]] const Array& array_of(const std::string& array_name) const;

  std::map<std::string, Array> arrays_;
  std::map<std::string, int64_t> node_counts_;
  std::map<std::string, DType> table_dtypes_;
  std::set<std::string> read_by_row_;
  std::optional<Part> part_;
  std::optional<uint64_t> id_;
  std::string path_;
  int segment_fd_ = -1;
  std::pair<uint64_t, uint64_t> identity_{0, 0};
};

// A type name as it stands in a folder name, and back: any name is possible, "__" separates the
// three parts of an edge type. docs/format.md, section 3.
[[nodiscard]] std::string encode_name(const std::string& name);
[[nodiscard]] std::string decode_name(const std::string& encoded);

}  // namespace ramet
