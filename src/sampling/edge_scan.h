// EdgeScan: samples a relation by looking at every in-edge of its destinations, by whatever rule.
//
// Rows are read in pieces of a few thousand: bounds | accept. How many edges a row gives is known
// only afterwards, so what is accepted is collected by piece and then moved to arrays of the right
// size. Pieces are pure functions of their rows and may run on several threads; relabeling, which
// fixes the order of new nodes, is done by one.
//
// A rule is one virtual call per piece: nothing else depends on what it draws by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/grow_array.h"
#include "base/prefetch.h"
#include "relation_builder.h"
#include "rows.h"

namespace ramet {

inline constexpr int64_t kPieceRows = 4096;

// Integers of 32 or of 64 bits, in memory that is kept.
class GrowIds {
 public:
  void start(bool is_narrow) { is_narrow_ = is_narrow; }
  // Makes room for `size`; the first `kept` stay.
  void reserve(int64_t size, int64_t kept) {
    if (is_narrow_) return narrow_.reserve(static_cast<size_t>(size), static_cast<size_t>(kept));
    wide_.reserve(static_cast<size_t>(size), static_cast<size_t>(kept));
  }
  // Calls body with the first of them, as a pointer.
  template <typename Body>
  void with(Body&& body) const {
    if (is_narrow_) return body(narrow_.data());
    body(wide_.data());
  }
  [[nodiscard]] int64_t operator[](int64_t i) const {
    return is_narrow_ ? narrow_.data()[i] : wide_.data()[i];
  }

 private:
  bool is_narrow_ = false;
  GrowArray<int32_t> narrow_;
  GrowArray<int64_t> wide_;
};

// What some rows gave.
class EdgePicks {
 public:
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] const GrowIds& position() const { return position_; }
  [[nodiscard]] const GrowIds& source() const { return source_; }
  [[nodiscard]] const float* weight() const { return weight_.data(); }  // where weigh() was called

  // Forgets all. `task` must outlive what follows.
  void start(const RelationRows& task, bool has_narrow_sources);
  // Appends `count` edges, of which the i-th stands at position_of(i) of the edge type. Their
  // sources are read later.
  template <typename PositionOf>
  void take(int64_t count, PositionOf&& position_of) {
    add(count, [&](auto* position) {
      for (int64_t i = 0; i < count; ++i)
        position[i] = static_cast<std::decay_t<decltype(*position)>>(position_of(i));
    });
  }
  // The same for sources that the caller has just read in `stored`, so that they are in the cache.
  // kCorrupt: one that is no node.
  template <typename Index, typename PositionOf>
  void take_read(std::span<const Index> stored, int64_t count, PositionOf&& position_of) {
    const auto bound = static_cast<uint64_t>(task_->num_src_nodes);
    source_.reserve(size_ + count, size_);
    add(count, [&](auto* position) {
      source_.with([&, first = size_](auto* source) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t p = position_of(i);
          const Index id = stored[static_cast<size_t>(p)];
          if (static_cast<uint64_t>(id) >= bound)
            throw_bad_source(task_->edges, p, id, task_->num_src_nodes);
          position[i] = static_cast<std::decay_t<decltype(*position)>>(p);
          source[first + i] = static_cast<std::decay_t<decltype(*source)>>(id);
        }
      });
    });
    read_ = size_;
  }
  // As take() by fill(positions), which writes them.
  template <typename Fill>
  void add(int64_t count, Fill&& fill) {
    position_.reserve(size_ + count, size_);
    position_.with([&](auto* position) { fill(position + size_); });
    size_ += count;
  }
  // As take(), with sources that are known to be nodes.
  template <typename PositionOf, typename SourceOf>
  void take_known(int64_t count, PositionOf&& position_of, SourceOf&& source_of) {
    source_.reserve(size_ + count, size_);
    source_.with([&](auto* source) {
      for (int64_t i = 0; i < count; ++i)
        source[size_ + i] = source_of(i);
    });
    take(count, position_of);
    read_ = size_;
  }
  // Reads the sources that have not been read. kCorrupt: one that is no node.
  void read_sources();
  // weight_of(i) is the weight of the i-th of the last `count` edges.
  template <typename WeightOf>
  void weigh(int64_t count, WeightOf&& weight_of) {
    const int64_t first = size_ - count;
    weight_.reserve(static_cast<size_t>(size_), static_cast<size_t>(first));
    for (int64_t i = 0; i < count; ++i)
      weight_.data()[first + i] = weight_of(static_cast<size_t>(i));
  }

 private:
  const RelationRows* task_ = nullptr;
  IdSpan stored_;
  GrowIds position_, source_;
  GrowArray<float> weight_;
  int64_t size_ = 0, read_ = 0;
};

// Rows of destinations from the `first` on.
struct PieceOfRows {
  size_t first;
  std::span<const Row> rows;
};

// What decides about a piece.
class EdgeRule {
 public:
  virtual ~EdgeRule() = default;
  // Appends the picks of these rows, and weighs them where scan_edges() stores weights; sizes[j]:
  // how many rows[j] gave.
  virtual void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) = 0;
};
using MakeRule = FunctionRef<std::unique_ptr<EdgeRule>(const RelationRows& task)>;

// What grows with the batch, kept from one to the next, so that it is not fresh memory each time.
struct ScanScratch {
  std::vector<EdgePicks> pieces;
  std::vector<Row> parts;  // of sorted rows, that times allow
};

// At most `threads` work. Each piece has a rule of its own.
template <typename Id>
[[nodiscard]] Relation scan_edges(const RelationTask<Id>& task,
                                  ScanScratch& scratch,
                                  BufferPool& pool,
                                  int threads,
                                  bool stores_weights,
                                  MakeRule make_rule);

// The rows of destinations `begin` to `end`.
[[nodiscard]] std::vector<Row> read_piece(const RelationRows& task, int64_t begin, int64_t end);

// Calls body(i) for numbers below `size`, several at a time, before `at` comes within `ahead` of
// them: each once, in order, as `at` ascends one by one from 0.
template <typename Body>
void for_each_touched(size_t at, size_t ahead, size_t size, Body&& body) {
  constexpr size_t kTogether = 16;
  if (at % kTogether != 0) return;
  const size_t begin = at == 0 ? 0 : at + ahead;
  for (size_t i = begin; i < std::min(at + ahead + kTogether, size); ++i)
    body(i);
}

// Asks for the sources, of `width` bytes each, of a row that will be read soon.
inline void request_sources(const EdgeType& edges, int64_t width, const Row& row) {
  constexpr int64_t kMostBytes = 2048, kLine = 64;  // the hardware sees the rest
  const char* first = static_cast<const char*>(edges.indices.data) + row.begin * width;
  for (int64_t at = 0; at < std::min(row.degree * width, kMostBytes); at += kLine)
    prefetch(first + at);
}

// Calls body(i, row) for the destinations of a piece. Some rows ahead, what the reader reads of
// them is asked for: sources, if its reads_sources() says so, and by its request(row, i). Before
// that the first of it, by touch(row, i), of several rows at once: the translations of their
// addresses then take place side by side.
template <typename Reader, typename Body>
void for_each_row_ahead(const RelationRows& task,
                        const PieceOfRows& piece,
                        Reader& reader,
                        Body&& body) {
  constexpr size_t kRowsAhead = 8, kReaderAhead = 4;
  const bool reads_sources = reader.reads_sources();
  const int64_t width = task.edges.indices.row_bytes();
  const auto [first, rows] = piece;
  const std::span<const Row> read =  // of them
      task.parts.empty() ? rows : task.parts.subspan(first, rows.size());
  for (size_t at = 0; at < rows.size(); ++at) {
    for_each_touched(at, kRowsAhead, rows.size(), [&, first = first, rows = rows](size_t i) {
      if (reads_sources)
        prefetch(static_cast<const char*>(task.edges.indices.data) + read[i].begin * width);
      reader.touch(rows[i], first + i);
    });
    if (reads_sources && at + kRowsAhead < rows.size())
      request_sources(task.edges, width, read[at + kRowsAhead]);
    if (const size_t ahead = at + kReaderAhead; ahead < rows.size())
      reader.request(rows[ahead], first + ahead);
    body(first + at, rows[at]);
  }
}

// EdgeRule::take() by a rule that decides about one row after the other: rule.pick(row, i, picks).
template <typename Rule>
void take_each(const RelationRows& task,
               const PieceOfRows& piece,
               Rule& rule,
               EdgePicks& picks,
               int64_t* sizes) {
  for_each_row_ahead(task, piece, rule, [&](size_t i, const Row& row) {
    const int64_t before = picks.size();
    rule.pick(row, i, picks);
    *sizes++ = picks.size() - before;
  });
}

}  // namespace ramet
