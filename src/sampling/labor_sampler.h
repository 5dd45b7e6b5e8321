// LABOR sampling of one edge type of one hop; docs/semantics.md, section 8.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "base/draw_keys.h"
#include "base/grow_array.h"
#include "importance.h"
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
  [[nodiscard]] const float* weight() const { return weight_.data(); }  // where weigh() was called

  void clear() { size_ = 0; }
  void reserve_more(int64_t count) {
    const auto kept = static_cast<size_t>(size_), size = static_cast<size_t>(size_ + count);
    position_.reserve(size, kept);
    source_.reserve(size, kept);
  }
  // Appends `count` edges, for which reserve_more() has made room: body(i) gives the position and
  // the source of the i-th.
  template <typename Body>
  void append(int64_t count, Body&& body) {
    Position* position = position_.data() + size_;
    Id* source = source_.data() + size_;
    for (int64_t i = 0; i < count; ++i)
      body(i, position[i], source[i]);
    size_ += count;
  }
  // weight_of(i) is the weight of the i-th of the last `count` edges.
  template <typename WeightOf>
  void weigh(int64_t count, WeightOf&& weight_of) {
    const int64_t first = size_ - count;
    weight_.reserve(static_cast<size_t>(size_), static_cast<size_t>(first));
    for (int64_t i = 0; i < count; ++i)
      weight_.data()[first + i] = weight_of(static_cast<size_t>(i));
  }

 private:
  GrowArray<Position> position_;
  GrowArray<Id> source_;
  GrowArray<float> weight_;
  int64_t size_ = 0;
};

// What grows with the batch, kept from one to the next, so that it is not fresh memory each time.
template <typename Id>
struct LaborScratch {
  template <typename Position>
  using Pieces = std::vector<LaborPicks<Id, Position>>;
  std::tuple<Pieces<int32_t>, Pieces<int64_t>> pieces;
};

// What decides about the edges of a relation, and what they weigh.
struct LaborDraws {
  DrawKeys source_keys;
  const RelationImportance* importance;  // of this relation, or nullptr for LABOR-0
  Weights weights;

  // False where every weight is 1 / picks of the destination, which blocks do not store.
  [[nodiscard]] bool stores_weights() const {
    return importance != nullptr || weights == Weights::kHorvitzThompson;
  }
};

// At most `threads` work on it.
template <typename Id>
[[nodiscard]] Relation sample_labor(const RelationTask<Id>& task,
                                    const LaborDraws& draws,
                                    LaborScratch<Id>& scratch,
                                    BufferPool& pool,
                                    int threads);

}  // namespace ramet
