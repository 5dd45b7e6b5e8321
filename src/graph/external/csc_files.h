// CscFiles: the files of a CSC, written row by row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>

#include "npy_stream.h"
#include "ramet/external_csc.h"

namespace ramet {

template <typename Index, typename Id>
class CscFiles {
 public:
  explicit CscFiles(const CscPaths& paths)
      : ids_path_(paths.edge_ids), indptr_(paths.indptr), indices_(paths.indices) {}

  [[nodiscard]] int64_t num_edges() const { return num_edges_; }
  [[nodiscard]] bool has_edge_ids() const { return ids_ != nullptr; }

  void add_rows(std::span<const int64_t> offsets) { append(indptr_, offsets); }

  void add_edges(std::span<const Index> indices, std::span<const Id> ids) {
    append(indices_, indices);
    if (ids_ == nullptr && !ids_path_.empty() && !are_positions(ids)) begin_ids();
    if (ids_ != nullptr) append(*ids_, ids);
    num_edges_ += std::ssize(indices);
  }

  void finish() {
    add_rows(std::span(&num_edges_, 1));
    indptr_.finish(DType::kInt64);
    indices_.finish(kDTypeOf<Index>);
    if (ids_ != nullptr) ids_->finish(kDTypeOf<Id>);
    indptr_.keep();
    indices_.keep();
    if (ids_ != nullptr) ids_->keep();
  }

 private:
  template <typename T>
  static void append(NpyStream& file, std::span<const T> values) {
    file.append(values.data(), static_cast<int64_t>(values.size_bytes()));
  }

  [[nodiscard]] bool are_positions(std::span<const Id> ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != static_cast<Id>(num_edges_ + static_cast<int64_t>(i))) return false;
    }
    return true;
  }

  // The file, with the ids so far, which all were positions.
  void begin_ids() {
    ids_ = std::make_unique<NpyStream>(ids_path_);
    std::array<Id, 1 << 12> some;
    for (int64_t begin = 0; begin < num_edges_; begin += std::ssize(some)) {
      std::iota(some.begin(), some.end(), static_cast<Id>(begin));
      const int64_t count = std::min<int64_t>(num_edges_ - begin, std::ssize(some));
      append(*ids_, std::span<const Id>(some.data(), static_cast<size_t>(count)));
    }
  }

  std::string ids_path_;
  NpyStream indptr_, indices_;
  std::unique_ptr<NpyStream> ids_;
  int64_t num_edges_ = 0;
};

}  // namespace ramet
