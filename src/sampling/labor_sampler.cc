// Rows are read in pieces of a few thousand: bounds | accept. How many edges a row gives is known
// only afterwards, so what is accepted is collected by piece and then moved to arrays of the right
// size. Pieces are pure functions of their rows and may run on several threads; relabeling, which
// fixes the order of new nodes, is done by one.
#include "labor_sampler.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/parallel.h"
#include "kernels/cpu/labor_scan.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

constexpr int64_t kPieceRows = 4096;
constexpr int64_t kSpan = int64_t{1} << 14;  // sources that a kernel looks at before they are taken
constexpr int64_t kRowsAhead = 8;            // rows whose first sources are requested
constexpr int64_t kRequestedBytes = 2048;    // of each; the hardware's prefetcher sees the rest

// The largest word that a fraction k / d < 1 of all words does not exceed.
uint64_t threshold_of(int64_t k, int64_t d) {
  return static_cast<uint64_t>((static_cast<uint128_t>(k) << 64) / static_cast<uint128_t>(d));
}

template <typename Id, typename Position>
class LaborSampler {
 public:
  LaborSampler(const RelationTask<Id>& task,
               const LaborDraws& draws,
               LaborScratch<Id>& scratch,
               BufferPool& pool)
      : task_(task),
        draws_(draws),
        pieces_(std::get<Pieces>(scratch.pieces)),
        relation_(task, pool),
        indptr_(relation_.indptr()) {}

  Relation sample(int threads) {
    const int64_t num_pieces =
        task_.fanout == 0 ? 0 : (task_.num_dst() + kPieceRows - 1) / kPieceRows;
    pieces_.resize(std::max(pieces_.size(), static_cast<size_t>(num_pieces)));
    if (num_pieces == 0) std::fill_n(indptr_, task_.num_dst() + 1, 0);
    for_each_piece(num_pieces, threads, [&](int64_t piece) { accept_rows(piece); });
    if (relation_.allocate() == 0) return relation_.take();
    float* weight = draws_.stores_weights() ? relation_.allocate_weights() : nullptr;
    for_each_piece(num_pieces, threads, [&](int64_t piece) { move_out(piece, weight); });
    for (int64_t piece = 0; piece < num_pieces; ++piece)
      relabel(piece);
    return relation_.take();
  }

 private:
  using Picks = LaborPicks<Id, Position>;
  using Pieces = std::vector<Picks>;

  // What one thread needs to look at rows.
  struct Scan {
    LaborKernel kernel = labor_kernel();
    std::vector<Row> rows;
    std::vector<double> p;  // LABOR-i: of one row's sources
    std::vector<double> q;  // LABOR-i: of one row's picks
    std::vector<uint32_t> accepted = std::vector<uint32_t>(kSpan + kLaborPadding);
  };

  template <typename Body>
  void for_each_piece(int64_t num_pieces, int threads, Body&& body) {
    parallel_for(num_pieces, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        body(piece);
    });
  }

  void accept_rows(int64_t piece) {
    const int64_t begin = piece * kPieceRows;
    const int64_t end = std::min(begin + kPieceRows, task_.num_dst());
    Picks& picks = pieces_[static_cast<size_t>(piece)];
    picks.clear();
    Scan scan;
    for_each_row(task_.edges, task_.dst_rows, task_.dst_nodes(), begin, end,
                 [&](int64_t, const Row& row) { scan.rows.push_back(row); });
    with_ids(task_.edges.indices, [&](auto stored) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i - begin);
        if (at + kRowsAhead < scan.rows.size()) request_row(stored, scan.rows[at + kRowsAhead]);
        const int64_t before = picks.size();
        if (draws_.importance != nullptr) {
          accept_weighted(stored, scan.rows[at], static_cast<size_t>(i), scan, picks);
        } else {
          accept(stored, scan.rows[at], scan, picks);
        }
        indptr_[i + 1] = picks.size() - before;
      }
    });
  }

  template <typename Index>
  void request_row(std::span<const Index> stored, const Row& row) const {
    const auto* first = reinterpret_cast<const char*>(stored.data() + row.begin);
    const int64_t bytes = row.degree * static_cast<int64_t>(sizeof(Index));
    for (int64_t at = 0; at < std::min(bytes, kRequestedBytes); at += 64)
      prefetch(first + at);
  }

  template <typename Index>
  void accept(std::span<const Index> stored, const Row& row, Scan& scan, Picks& picks) const {
    if (task_.fanout == kAllNeighbors || task_.fanout >= row.degree) {
      take(stored, row.degree, [&](int64_t i) { return row.begin + i; }, picks);
      return weigh_alike(row.degree, row.degree, picks);
    }
    const uint64_t threshold = threshold_of(task_.fanout, row.degree);
    const int64_t before = picks.size();
    for (int64_t first = row.begin, end = row.begin + row.degree; first < end; first += kSpan) {
      const uint32_t* accepted = scan.accepted.data();
      const int64_t size = scan.kernel(draws_.source_keys, threshold, stored.data() + first,
                                       std::min(kSpan, end - first), scan.accepted.data());
      take(stored, size, [&](int64_t i) { return first + accepted[i]; }, picks);
    }
    weigh_alike(picks.size() - before, task_.fanout, picks);
  }

  // LABOR-i: a probability for every edge. The file may have changed since importances were made.
  template <typename Index>
  void accept_weighted(
      std::span<const Index> stored, const Row& row, size_t i, Scan& scan, Picks& picks) const {
    draws_.importance->load(i, scan.p);
    if (scan.p.size() != static_cast<size_t>(row.degree)) {
      throw_bad_entry(task_.edges.indptr_place, task_.dst_rows.row(task_.dst_nodes()[i]), row.begin,
                      "begins a row whose length changed while it was sampled");
    }
    const double c = solve_c(scan.p, task_.fanout);
    scan.q.clear();
    for (int64_t e = 0; e < row.degree; ++e) {
      const double q = std::min(1.0, c * scan.p[static_cast<size_t>(e)]);
      const int64_t position = row.begin + e;
      const auto source = static_cast<uint64_t>(stored[static_cast<size_t>(position)]);
      const bool accepted =
          q == 1 || draw_word(draws_.source_keys, source) <= static_cast<uint64_t>(q * 0x1p64);
      if (!accepted) continue;
      take(stored, 1, [&](int64_t) { return position; }, picks);
      scan.q.push_back(q);
    }
    weigh_by_probability(scan.q, static_cast<double>(row.degree), picks);
  }

  // LABOR-0: the last `count` picks are a row's, of `expected`.
  void weigh_alike(int64_t count, int64_t expected, Picks& picks) const {
    if (!draws_.stores_weights()) return;
    const auto weight = static_cast<float>(1 / static_cast<double>(expected));
    picks.weigh(count, [weight](size_t) { return weight; });
  }

  // LABOR-i: the last picks are a row's, with the probabilities `q`.
  void weigh_by_probability(const std::vector<double>& q, double degree, Picks& picks) const {
    double sum = 0;
    for (const double of_pick : q)
      sum += 1 / of_pick;
    const bool normalized = draws_.weights == Weights::kNormalized;
    picks.weigh(static_cast<int64_t>(q.size()), [&](size_t i) {
      return static_cast<float>(normalized ? 1 / q[i] / sum : 1 / (degree * q[i]));
    });
  }

  // `count` accepted edges; position_of(i) is where the i-th stands.
  template <typename Index, typename PositionOf>
  void take(std::span<const Index> stored,
            int64_t count,
            PositionOf&& position_of,
            Picks& picks) const {
    const auto bound = static_cast<uint64_t>(task_.num_src_nodes);
    picks.reserve_more(count);
    picks.append(count, [&](int64_t i, Position& position, Id& source) {
      const int64_t p = position_of(i);
      const Index id = stored[static_cast<size_t>(p)];
      if (static_cast<uint64_t>(id) >= bound)
        throw_bad_source(task_.edges, p, id, task_.num_src_nodes);
      position = static_cast<Position>(p);
      source = static_cast<Id>(id);
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
    const Picks& picks = pieces_[static_cast<size_t>(piece)];
    std::span<const Id> ids(picks.source(), static_cast<size_t>(picks.size()));
    relation_.request_and_relabel(indptr_[piece * kPieceRows], ids);
  }

  const RelationTask<Id>& task_;
  const LaborDraws& draws_;
  Pieces& pieces_;
  RelationBuilder<Id> relation_;
  int64_t* indptr_;  // of relation_
};

}  // namespace

template <typename Id>
Relation sample_labor(const RelationTask<Id>& task,
                      const LaborDraws& draws,
                      LaborScratch<Id>& scratch,
                      BufferPool& pool,
                      int threads) {
  if (task.edges.num_edges() <= std::numeric_limits<int32_t>::max())
    return LaborSampler<Id, int32_t>(task, draws, scratch, pool).sample(threads);
  return LaborSampler<Id, int64_t>(task, draws, scratch, pool).sample(threads);
}

template Relation sample_labor(
    const RelationTask<int32_t>&, const LaborDraws&, LaborScratch<int32_t>&, BufferPool&, int);
template Relation sample_labor(
    const RelationTask<int64_t>&, const LaborDraws&, LaborScratch<int64_t>&, BufferPool&, int);

}  // namespace ramet
