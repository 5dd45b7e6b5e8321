#include "edge_scan.h"

#include <limits>

#include "base/parallel.h"
#include "rows_in_time.h"
#include "sorted_times.h"

namespace ramet {
namespace {

// kCorrupt unless the times of these rows' picks are allowed. A store may say falsely that its rows
// are in the order of times.
void check_times(const RelationRows& task,
                 const PieceOfRows& piece,
                 const EdgePicks& picks,
                 const int64_t* sizes) {
  const EdgeTimes& times = *task.times;
  const GrowIds& entries = times.of_edges != nullptr ? picks.position() : picks.source();
  int64_t e = 0;
  for (size_t j = 0; j < piece.rows.size(); ++j) {
    const TimeSpan allowed = task.allowed[piece.first + j];
    for (const int64_t end = e + sizes[j]; e < end; ++e) {
      if (!allowed.contains(times.data()[entries[e]])) times.throw_unsorted(entries[e]);
    }
  }
}

template <typename Id>
class EdgeScan {
 public:
  EdgeScan(const RelationTask<Id>& task, ScanScratch& scratch, BufferPool& pool)
      : task_(task), scratch_(scratch), relation_(task_, pool), indptr_(relation_.indptr()) {}

  Relation sample(MakeRule make_rule, bool stores_weights, int threads) {
    task_.parts = find_parts(task_, scratch_.parts, threads);
    const int64_t num_pieces =
        task_.fanout == 0 ? 0 : (task_.num_dst() + kPieceRows - 1) / kPieceRows;
    scratch_.pieces.resize(std::max(scratch_.pieces.size(), static_cast<size_t>(num_pieces)));
    if (num_pieces == 0) std::fill_n(indptr_, task_.num_dst() + 1, 0);
    for_each_piece(num_pieces, threads,
                   [&](int64_t piece) { accept_rows(piece, *make_rule(task_)); });
    if (relation_.allocate() == 0) return relation_.take();
    float* weight = stores_weights ? relation_.allocate_weights() : nullptr;
    for_each_piece(num_pieces, threads, [&](int64_t piece) { move_out(piece, weight); });
    for (int64_t piece = 0; piece < num_pieces; ++piece)
      relabel(piece);
    return relation_.take();
  }

 private:
  template <typename Body>
  void for_each_piece(int64_t num_pieces, int threads, Body&& body) {
    parallel_for(num_pieces, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        body(piece);
    });
  }

  void accept_rows(int64_t piece, EdgeRule& rule) {
    const int64_t begin = piece * kPieceRows;
    EdgePicks& picks = scratch_.pieces[static_cast<size_t>(piece)];
    picks.start(task_, sizeof(Id) == sizeof(int32_t));
    const std::vector<Row> rows =
        read_piece(task_, begin, std::min(begin + kPieceRows, task_.num_dst()));
    const PieceOfRows of_piece{static_cast<size_t>(begin), rows};
    int64_t* const sizes = indptr_ + begin + 1;
    rule.take(of_piece, picks, sizes);
    picks.read_sources();
    const EdgeTimes* const times = task_.times;
    if (times != nullptr && times->sorted && known_order(*times) == nullptr)
      check_times(task_, of_piece, picks, sizes);
  }

  void move_out(int64_t piece, float* weight) {
    const EdgePicks& picks = scratch_.pieces[static_cast<size_t>(piece)];
    const int64_t first = indptr_[piece * kPieceRows];
    picks.position().with([&](const auto* from) {
      using Position = std::decay_t<decltype(*from)>;
      std::copy_n(from, picks.size(), static_cast<Position*>(relation_.position().data) + first);
    });
    if (weight != nullptr) std::copy_n(picks.weight(), picks.size(), weight + first);
  }

  void relabel(int64_t piece) {
    EdgePicks& picks = scratch_.pieces[static_cast<size_t>(piece)];
    const int64_t begin = indptr_[piece * kPieceRows];
    picks.source().with([&](auto* ids) {
      if constexpr (std::is_same_v<decltype(ids), Id*>) {
        const std::span<Id> keys(ids, static_cast<size_t>(picks.size()));
        relation_.make_keys(begin, keys);
        relation_.request_and_relabel(begin, keys);
      }
    });
  }

  RelationTask<Id> task_;
  ScanScratch& scratch_;
  RelationBuilder<Id> relation_;
  int64_t* indptr_;  // of relation_
};

}  // namespace

void EdgePicks::start(const RelationRows& task, bool has_narrow_sources) {
  task_ = &task;
  stored_ = IdSpan(task.edges.indices);
  position_.start(task.edges.num_edges() <= std::numeric_limits<int32_t>::max());
  source_.start(has_narrow_sources);
  size_ = read_ = 0;
}

void EdgePicks::read_sources() {
  constexpr int64_t kAhead = 64;
  const auto bound = static_cast<uint64_t>(task_->num_src_nodes);
  source_.reserve(size_, read_);
  position_.with([&](const auto* position) {
    stored_.with([&](auto stored) {
      source_.with([&](auto* source) {
        for (int64_t e = read_; e < size_; ++e) {
          if (e + kAhead < size_) prefetch(&stored[static_cast<size_t>(position[e + kAhead])]);
          const int64_t p = position[e], id = stored[static_cast<size_t>(p)];
          if (static_cast<uint64_t>(id) >= bound)
            throw_bad_source(task_->edges, p, id, task_->num_src_nodes);
          source[e] = static_cast<std::decay_t<decltype(*source)>>(id);
        }
      });
    });
  });
  read_ = size_;
}

std::vector<Row> read_piece(const RelationRows& task, int64_t begin, int64_t end) {
  std::vector<Row> rows;
  rows.reserve(static_cast<size_t>(end - begin));
  for_each_dst_row(task, begin, end, [&](int64_t, const Row& row) { rows.push_back(row); });
  read_ahead_rows(task.edges, rows, task.fanout);
  return rows;
}

template <typename Id>
Relation scan_edges(const RelationTask<Id>& task,
                    ScanScratch& scratch,
                    BufferPool& pool,
                    int threads,
                    bool stores_weights,
                    MakeRule make_rule) {
  return EdgeScan<Id>(task, scratch, pool).sample(make_rule, stores_weights, threads);
}

template Relation scan_edges(
    const RelationTask<int32_t>&, ScanScratch&, BufferPool&, int, bool, MakeRule);
template Relation scan_edges(
    const RelationTask<int64_t>&, ScanScratch&, BufferPool&, int, bool, MakeRule);

}  // namespace ramet
