// LABOR sampling of one edge type of one hop; docs/semantics.md, section 8.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "growing.h"
#include "importance.h"
#include "ramet/draw_keys.h"
#include "relation_builder.h"
#include "rows.h"

namespace ramet {

// What some rows gave: the number of edges is known only when they have been looked at.
template <typename Id, typename Position>
class LaborPicks {
 public:
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] const Position* position() const { return position_.data(); }
  [[nodiscard]] const Id* source() const { return source_.data(); }
  [[nodiscard]] const float* weight() const { return weight_.data(); }

  void clear() { size_ = 0; }
  void reserve_more(int64_t count) {
    const auto kept = static_cast<size_t>(size_), size = static_cast<size_t>(size_ + count);
    position_.reserve(size, kept);
    source_.reserve(size, kept);
    weight_.reserve(size, kept);
  }
  // Appends `count` edges, for which reserve_more() has made room: body(i) gives the position, the
  // source and the weight of the i-th.
  template <typename Body>
  void append(int64_t count, Body&& body) {
    Position* position = position_.data() + size_;
    Id* source = source_.data() + size_;
    float* weight = weight_.data() + size_;
    for (int64_t i = 0; i < count; ++i)
      body(i, position[i], source[i], weight[i]);
    size_ += count;
  }

 private:
  Growing<Position> position_;
  Growing<Id> source_;
  Growing<float> weight_;
  int64_t size_ = 0;
};

// What grows with the batch, kept from one to the next, so that it is not fresh memory each time.
template <typename Id>
struct LaborScratch {
  template <typename Position>
  using Pieces = std::vector<LaborPicks<Id, Position>>;
  std::tuple<Pieces<int32_t>, Pieces<int64_t>> pieces;
};

// At most `threads` work on it. `importance`: of this relation, or nullptr for LABOR-0.
template <typename Id>
[[nodiscard]] Relation sample_labor(const RelationTask<Id>& task,
                                    const DrawKeys& source_keys,
                                    const RelationImportance* importance,
                                    LaborScratch<Id>& scratch,
                                    BufferPool& pool,
                                    int threads);

}  // namespace ramet
