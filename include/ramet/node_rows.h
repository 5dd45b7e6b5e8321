// NodeRows: maps nodes to rows of a store's arrays. In a whole store, row v is node v. In a part
// (docs/format.md, section 7) only its own nodes have rows, in the order of their ids: a range of
// ids, or the set bits of a bitmap.
//
// Memory: a value that shares the part's arrays and keeps them alive. Threads and forks: immutable;
// use it from any. Failure: a node of another part is kOutOfRange and names its owner. Bitmaps are
// files and not trusted: a row beyond the part's rows is kCorrupt, naming file, line and value.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ramet/array.h"
#include "ramet/store.h"

namespace ramet {

class NodeRows {
 public:
  // One node type of a part: what errors name, and who owns the nodes.
  struct Context {
    Part part;
    std::string type;
    Array owner;  // int64[parts + 1] or uint8 or uint16[nodes]: Ownership reads it
    std::string owner_location, owned_location;
  };

  NodeRows() = default;  // of no nodes
  // Of a whole store.
  [[nodiscard]] static NodeRows all(int64_t num_nodes);
  // Of a part that owns the nodes from `begin` to `end`.
  [[nodiscard]] static NodeRows range(int64_t begin, int64_t end, Context context);
  // Of a part that owns the nodes of the bitmap `owned`, num_rows of num_nodes.
  [[nodiscard]] static NodeRows bitmap(Array owned,
                                       int64_t num_nodes,
                                       int64_t num_rows,
                                       Context context);

  // Row v is node v, for all nodes.
  [[nodiscard]] bool is_whole() const { return form_ == Form::kAll; }
  [[nodiscard]] int64_t num_rows() const { return num_rows_; }

  // The row of a node; -1 for a node of another part. Here and below, the caller has checked that
  // the node is below the number of nodes.
  [[nodiscard]] int64_t row(int64_t node) const {
    if (form_ == Form::kBitmap) return row_of_bitmap(node);
    return node >= begin_ && node - begin_ < num_rows_ ? node - begin_ : -1;
  }
  // rows[i] = the row of nodes[i]; kOutOfRange if one has none.
  void require(std::span<const int32_t> nodes, int64_t* rows) const;
  void require(std::span<const int64_t> nodes, int64_t* rows) const;
  // int64[num_rows]: the node of each row, ascending.
  [[nodiscard]] Array nodes() const { return nodes(0, num_rows_); }
  // Of rows [begin, end).
  [[nodiscard]] Array nodes(int64_t begin, int64_t end) const;

 private:
  enum class Form : uint8_t { kAll, kRange, kBitmap };

  template <typename Id>
  void look_up(std::span<const Id> nodes, int64_t* rows) const;
  void look_up_bitmap(std::span<const int32_t> nodes, int64_t* rows) const;
  void look_up_bitmap(std::span<const int64_t> nodes, int64_t* rows) const;
  [[nodiscard]] int64_t row_of_bitmap(int64_t node) const;
  void list_bitmap(int64_t begin, int64_t end, int64_t* nodes) const;
  [[noreturn]] void throw_not_owned(int64_t node) const;
  [[noreturn]] void throw_bad_row(int64_t node, int64_t row) const;

  Form form_ = Form::kAll;
  int64_t num_nodes_ = 0, num_rows_ = 0;
  int64_t begin_ = 0;  // of a range
  Array owned_;        // a bitmap: owned_bitmap.h
  std::shared_ptr<const Context> context_;
};

}  // namespace ramet
