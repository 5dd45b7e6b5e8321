// EdgeScan: samples a relation by looking at every in-edge of its destinations, by whatever rule.
//
// Rows are read in pieces of a few thousand: bounds | accept. How many edges a row gives is known
// only afterwards, so what is accepted is collected by piece and then moved to arrays of the right
// size. Pieces are pure functions of their rows and may run on several threads; relabeling, which
// fixes the order of new nodes, is done by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "base/fanout.h"
#include "base/grow_array.h"
#include "base/parallel.h"
#include "base/prefetch.h"
#include "excluded_edges.h"
#include "relation_builder.h"
#include "rows.h"

namespace ramet {

// Which in-edges of a row a rule draws from: all. RemainingEdges holds those back that are
// excluded, and EdgesInTime (edges_in_time.h) more.
struct EveryEdge {
  struct Numbers {
    int64_t degree;
    [[nodiscard]] int64_t size() const { return degree; }
    int64_t operator[](int64_t j) const { return j; }
    void copy(int64_t j, int64_t count, int64_t* out) const { std::iota(out, out + count, j); }
  };
  template <typename Index>
  Numbers of(std::span<const Index> /*stored*/, const Row& row, size_t /*i*/) const {
    return {row.degree};
  }
};

template <typename Id>
class RemainingEdges {
 public:
  explicit RemainingEdges(const RelationTask<Id>& task) : task_(task) {}

  template <typename Index>
  RemainingNumbers of(std::span<const Index> /*stored*/, const Row& row, size_t /*i*/) const {
    return {row, task_.excluded_in(row)};
  }

 private:
  const RelationTask<Id>& task_;
};

inline constexpr int64_t kPieceRows = 4096;

// Asks for the sources of a row that will be read soon.
template <typename Index>
void request_sources(std::span<const Index> stored, const Row& row) {
  constexpr int64_t kMostBytes = 2048, kLine = 64;  // the hardware sees the rest
  const auto* first = reinterpret_cast<const char*>(stored.data() + row.begin);
  const int64_t bytes = row.degree * static_cast<int64_t>(sizeof(Index));
  for (int64_t at = 0; at < std::min(bytes, kMostBytes); at += kLine)
    prefetch(first + at);
}

// The rows of destinations `begin` to `end`.
template <typename Id>
std::vector<Row> read_piece(const RelationTask<Id>& task, int64_t begin, int64_t end) {
  std::vector<Row> rows;
  rows.reserve(static_cast<size_t>(end - begin));
  for_each_row(task.edges, task.dst_rows, task.dst_nodes(), begin, end,
               [&](int64_t, const Row& row) { rows.push_back(row); });
  read_ahead_rows(task.edges, rows, task.fanout);
  return rows;
}

// Calls body(i, row) for destinations `begin` to `end`, whose sources are requested some rows
// ahead, unless the reader's reads_sources() says no. What else it reads its request(stored, row)
// or request(stored, row, i) asks for.
template <typename Id, typename Index, typename Reader, typename Body>
void for_each_row_ahead(const RelationTask<Id>& task,
                        std::span<const Index> stored,
                        Reader& reader,
                        int64_t begin,
                        int64_t end,
                        Body&& body) {
  constexpr size_t kRowsAhead = 8, kReaderAhead = 4;
  bool reads_sources = true;
  if constexpr (requires { reader.reads_sources(); }) reads_sources = reader.reads_sources();
  for (int64_t first = begin; first < end; first += kPieceRows) {
    const std::vector<Row> rows = read_piece(task, first, std::min(first + kPieceRows, end));
    std::span<const Row> read = rows;  // what is read of them
    if (!task.parts.empty()) read = task.parts.subspan(static_cast<size_t>(first), rows.size());
    for (size_t at = 0; at < rows.size(); ++at) {
      if (reads_sources && at + kRowsAhead < rows.size())
        request_sources(stored, read[at + kRowsAhead]);
      if (const size_t ahead = at + kReaderAhead; ahead < rows.size()) {
        const size_t i = static_cast<size_t>(first) + ahead;
        if constexpr (requires { reader.request(stored, rows[ahead]); })
          reader.request(stored, rows[ahead]);
        if constexpr (requires { reader.request(stored, rows[ahead], i); })
          reader.request(stored, rows[ahead], i);
      }
      body(static_cast<size_t>(first) + at, rows[at]);
    }
  }
}

// What some rows gave.
template <typename Id, typename Position>
class EdgePicks {
 public:
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] const Position* position() const { return position_.data(); }
  [[nodiscard]] Id* source() { return source_.data(); }
  [[nodiscard]] const Id* source() const { return source_.data(); }
  [[nodiscard]] const float* weight() const { return weight_.data(); }  // where weigh() was called

  void clear() { size_ = read_ = 0; }
  // Appends `count` edges, of which the i-th stands at position_of(i) of the edge type, whose
  // sources are `stored`. kCorrupt: a source that is no node.
  template <typename Index, typename PositionOf>
  void take(const RelationTask<Id>& task,
            std::span<const Index> stored,
            int64_t count,
            PositionOf&& position_of) {
    const auto bound = static_cast<uint64_t>(task.num_src_nodes);
    const auto kept = static_cast<size_t>(size_), size = static_cast<size_t>(size_ + count);
    position_.reserve(size, kept);
    source_.reserve(size, kept);
    Position* position = position_.data() + size_;
    Id* source = source_.data() + size_;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t p = position_of(i);
      const Index id = stored[static_cast<size_t>(p)];
      if (static_cast<uint64_t>(id) >= bound)
        throw_bad_source(task.edges, p, id, task.num_src_nodes);
      position[i] = static_cast<Position>(p);
      source[i] = static_cast<Id>(id);
    }
    read_ = size_ += count;
  }
  // The same without the sources, for a rule that has not read them.
  template <typename PositionOf>
  void take_unread(int64_t count, PositionOf&& position_of) {
    Position* position = add_unread(count);
    for (int64_t i = 0; i < count; ++i)
      position[i] = static_cast<Position>(position_of(i));
  }
  // Appends `count` edges whose positions the caller writes, and whose sources it has not read.
  Position* add_unread(int64_t count) {
    position_.reserve(static_cast<size_t>(size_ + count), static_cast<size_t>(size_));
    size_ += count;
    return position_.data() + size_ - count;
  }
  // The same with sources that are known to be nodes.
  template <typename PositionOf, typename SourceOf>
  void take_known(int64_t count, PositionOf&& position_of, SourceOf&& source_of) {
    source_.reserve(static_cast<size_t>(size_ + count), static_cast<size_t>(size_));
    for (int64_t i = 0; i < count; ++i)
      source_.data()[size_ + i] = static_cast<Id>(source_of(i));
    take_unread(count, position_of);
    read_ = size_;
  }
  // Reads the sources that have not been read. kCorrupt: one that is no node.
  template <typename Index>
  void read_sources(const RelationTask<Id>& task, std::span<const Index> stored) {
    constexpr int64_t kAhead = 64;
    const auto bound = static_cast<uint64_t>(task.num_src_nodes);
    source_.reserve(static_cast<size_t>(size_), static_cast<size_t>(read_));
    for (; read_ < size_; ++read_) {
      if (read_ + kAhead < size_)
        prefetch(&stored[static_cast<size_t>(position_.data()[read_ + kAhead])]);
      const Position p = position_.data()[read_];
      const Index id = stored[static_cast<size_t>(p)];
      if (static_cast<uint64_t>(id) >= bound)
        throw_bad_source(task.edges, p, id, task.num_src_nodes);
      source_.data()[read_] = static_cast<Id>(id);
    }
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
  int64_t size_ = 0, read_ = 0;
};

// What grows with the batch, kept from one to the next, so that it is not fresh memory each time.
template <typename Id>
struct ScanScratch {
  template <typename Position>
  using Pieces = std::vector<EdgePicks<Id, Position>>;
  std::tuple<Pieces<int32_t>, Pieces<int64_t>> pieces;
};

template <typename Id, typename Position>
class EdgeScan {
 public:
  EdgeScan(const RelationTask<Id>& task, ScanScratch<Id>& scratch, BufferPool& pool)
      : task_(task),
        pieces_(std::get<Pieces>(scratch.pieces)),
        relation_(task, pool),
        indptr_(relation_.indptr()) {}

  // make_rule() gives what one thread decides with: rule(stored, row, i, picks) appends the picks
  // of destination i, whose row it is, and weighs them where stores_weights. A rule that reads more
  // than sources may have request(), as in for_each_row_ahead(), which asks for it; one that reads
  // none of them has reads_sources(). A rule may decide about the rows of a piece together:
  // take_rows(stored, first, rows, picks, sizes), of the destinations from `first` on, also writes
  // how many picks each has. At most `threads` work.
  template <typename MakeRule>
  Relation sample(const MakeRule& make_rule, bool stores_weights, int threads) {
    const int64_t num_pieces =
        task_.fanout == 0 ? 0 : (task_.num_dst() + kPieceRows - 1) / kPieceRows;
    pieces_.resize(std::max(pieces_.size(), static_cast<size_t>(num_pieces)));
    if (num_pieces == 0) std::fill_n(indptr_, task_.num_dst() + 1, 0);
    for_each_piece(num_pieces, threads, [&](int64_t piece) { accept_rows(piece, make_rule()); });
    if (relation_.allocate() == 0) return relation_.take();
    float* weight = stores_weights ? relation_.allocate_weights() : nullptr;
    for_each_piece(num_pieces, threads, [&](int64_t piece) { move_out(piece, weight); });
    for (int64_t piece = 0; piece < num_pieces; ++piece)
      relabel(piece);
    return relation_.take();
  }

 private:
  using Picks = EdgePicks<Id, Position>;
  using Pieces = std::vector<Picks>;

  template <typename Body>
  void for_each_piece(int64_t num_pieces, int threads, Body&& body) {
    parallel_for(num_pieces, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        body(piece);
    });
  }

  template <typename Rule>
  void accept_rows(int64_t piece, Rule rule) {
    const int64_t begin = piece * kPieceRows;
    const int64_t end = std::min(begin + kPieceRows, task_.num_dst());
    Picks& picks = pieces_[static_cast<size_t>(piece)];
    picks.clear();
    with_ids(task_.edges.indices, [&](auto stored) {
      if constexpr (requires { rule.take_rows(stored, begin, std::span<Row>(), picks, indptr_); }) {
        rule.take_rows(stored, begin, read_piece(task_, begin, end), picks, indptr_ + begin + 1);
      } else {
        for_each_row_ahead(task_, stored, rule, begin, end, [&](size_t i, const Row& row) {
          const int64_t before = picks.size();
          rule(stored, row, i, picks);
          indptr_[i + 1] = picks.size() - before;
        });
      }
      picks.read_sources(task_, stored);
    });
  }

  void move_out(int64_t piece, float* weight) {
    const Picks& picks = pieces_[static_cast<size_t>(piece)];
    const int64_t first = indptr_[piece * kPieceRows];
    auto* position = static_cast<Position*>(relation_.position().data);
    std::copy_n(picks.position(), picks.size(), position + first);
    if (weight != nullptr) std::copy_n(picks.weight(), picks.size(), weight + first);
  }

  void relabel(int64_t piece) {
    Picks& picks = pieces_[static_cast<size_t>(piece)];
    const std::span<Id> ids(picks.source(), static_cast<size_t>(picks.size()));
    const int64_t begin = indptr_[piece * kPieceRows];
    relation_.make_keys(begin, ids);
    relation_.request_and_relabel(begin, ids);
  }

  const RelationTask<Id>& task_;
  Pieces& pieces_;
  RelationBuilder<Id> relation_;
  int64_t* indptr_;  // of relation_
};

// EdgeScan::sample() with positions as wide as the edge type needs.
template <typename Id, typename MakeRule>
Relation scan_edges(const RelationTask<Id>& task,
                    ScanScratch<Id>& scratch,
                    BufferPool& pool,
                    int threads,
                    bool stores_weights,
                    const MakeRule& make_rule) {
  if (task.edges.num_edges() <= std::numeric_limits<int32_t>::max()) {
    return EdgeScan<Id, int32_t>(task, scratch, pool).sample(make_rule, stores_weights, threads);
  }
  return EdgeScan<Id, int64_t>(task, scratch, pool).sample(make_rule, stores_weights, threads);
}

}  // namespace ramet
