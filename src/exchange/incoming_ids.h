// IncomingIds: the nodes that all ranks ask this one for, and their positions among its own. One
// node type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "message.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/ownership.h"

namespace ramet {

template <typename Id>
class IncomingIds {
 public:
  // Positions in `index`, to which new ids are appended, rank by rank. Ids outside `span`, where
  // everything lies that this rank owns, are kCorrupt. Index: sampling's NodeIndex<Id>, which has
  // reserve_more() and request_and_relabel().
  template <typename Index>
  void insert(const MessageReader<Id>& from,
              size_t type,
              size_t ranks,
              NodeRange span,
              Index& index,
              BufferPool& pool) {
    counts_.clear();
    for (size_t rank = 0; rank < ranks; ++rank)
      counts_.push_back(static_cast<int64_t>(from.values(type, rank).size()));
    const int64_t total = std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
    positions_ = pool.allocate_array(DType::kInt32, {total});
    index.reserve_more(static_cast<size_t>(std::min(total, span.size())));
    auto* position = static_cast<int32_t*>(positions_.data);
    for (size_t rank = 0; rank < ranks; ++rank) {
      const std::span<const Id> ids = from.values(type, rank);
      check_ids(ids, span, rank);
      request_and_relabel(index, ids, position);
      position += ids.size();
    }
  }

  [[nodiscard]] const std::vector<int64_t>& counts() const { return counts_; }  // by rank
  [[nodiscard]] std::span<const int32_t> positions() const { return positions_.as<int32_t>(); }
  [[nodiscard]] Array take_positions() { return std::exchange(positions_, {}); }

 private:
  static void check_ids(std::span<const Id> ids, NodeRange span, size_t rank) {
    using Unsigned = std::make_unsigned_t<Id>;
    const auto begin = static_cast<Unsigned>(span.begin), size = static_cast<Unsigned>(span.size());
    const auto is_outside = [&](Id id) { return static_cast<Unsigned>(id) - begin >= size; };
    Unsigned outside = 0;  // found without a branch, then looked for
    for (const Id id : ids)
      outside |= is_outside(id) ? 1U : 0U;
    if (outside == 0) return;
    const auto id = std::find_if(ids.begin(), ids.end(), is_outside);
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " asked for node ", *id,
                ", but this rank's lie in [", span.begin, ", ", span.end, ")");
  }

  std::vector<int64_t> counts_;
  Array positions_;
};

}  // namespace ramet
