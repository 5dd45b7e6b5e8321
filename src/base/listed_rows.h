// ListedRows: the rows of several RowLists by their position in all of them. Keeps no memory alive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ramet/row_list.h"

namespace ramet {

struct ListedRow {
  const void* data;
  DType dtype;
};

class ListedRows {
 public:
  explicit ListedRows(std::span<const RowList> lists) {
    int64_t start = 0;
    for (const auto& [ids, rows] : lists) {
      starts_.push_back(start);
      lists_.push_back({static_cast<const char*>(rows.data), rows.row_bytes(), rows.dtype});
      start += std::ssize(ids);
    }
  }

  ListedRow operator[](int64_t position) const {
    size_t list = 0;
    if (starts_.size() > 1) {
      const auto behind = std::upper_bound(starts_.begin(), starts_.end(), position);
      list = static_cast<size_t>(behind - starts_.begin()) - 1;
    }
    const List& of = lists_[list];
    return {of.data + (position - starts_[list]) * of.row_bytes, of.dtype};
  }

 private:
  struct List {
    const char* data;
    int64_t row_bytes;
    DType dtype;
  };
  std::vector<int64_t> starts_;  // positions
  std::vector<List> lists_;
};

}  // namespace ramet
