#include "temporal_sampler.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cpu/pick.h"
#include "ramet/sampler.h"
#include "row_edges.h"
#include "row_picker.h"

namespace ramet {
namespace {

// Draws from the edges that a time allows as from whole rows, of which vector kernels take several
// together: for some rows at a time the numbers of these edges are listed, then picked among. A
// long row is on its own, so that lists stay in the cache. Of one thread.
class EvenlyRule final : public EdgeRule {
 public:
  EvenlyRule(const RelationRows& task, const DrawKeys& keys, bool replace)
      : task_(task), keys_(keys), rule_{task.fanout, replace}, edges_(task) {}

  void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) override {
    const auto [first, rows] = piece;
    for (size_t begin = 0; begin < rows.size();) {
      const size_t count = count_together(rows.subspan(begin));
      list(piece, begin, begin + count);
      pick({first + begin, rows.subspan(begin, count)}, picks, sizes + begin);
      begin += count;
    }
  }

 private:
  static constexpr size_t kRowsTogether = 64;
  static constexpr int64_t kListed = 1 << 14;  // edges of the rows, unless one alone has more

  // How many of the first rows are picked together.
  static size_t count_together(std::span<const Row> rows) {
    size_t count = 0;
    for (int64_t edges = 0; count < std::min(rows.size(), kRowsTogether); ++count) {
      edges += rows[count].degree;
      if (count > 0 && edges > kListed) break;
    }
    return count;
  }

  // Lists the allowed edges of rows `begin` to `end`, and requests what those behind them need.
  void list(const PieceOfRows& piece, size_t begin, size_t end) {
    constexpr size_t kAhead = 8;
    const auto [first, rows] = piece;
    const int64_t width = task_.edges.indices.row_bytes();
    listed_.clear();
    is_long_ = rows[begin].degree > kListed;
    if (is_long_) {
      numbers_ = edges_.in(rows[begin], task_.allowed[first + begin]);
      listed_.push_back({0, numbers_.size()});
      return;
    }
    int64_t size = 0;
    for (size_t i = begin; i < end; ++i) {
      for_each_touched(i, 2 * kAhead, rows.size(), [&](size_t j) { edges_.touch(rows[j]); });
      if (edges_.reads_sources() && i + 2 * kAhead < rows.size())
        request_sources(task_.edges, width, rows[i + 2 * kAhead]);
      if (i + kAhead < rows.size()) edges_.request(rows[i + kAhead]);
      const int64_t found = edges_.find(rows[i], task_.allowed[first + i], found_.data() + size);
      listed_.push_back({size, found});
      size += found;
    }
  }

  void pick(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) {
    const auto [first, rows] = piece;
    int64_t count = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      count += sizes[i] = num_picks(rule_, listed_[i].degree);
    RowPicker picker(rule_, keys_, task_.dst_ids.subspan(first, rows.size()), listed_);
    picks.add(count, [&, rows = rows](auto* position) {
      for (size_t i = 0; i < rows.size(); ++i) {
        picker.pick(i, [&, begin = rows[i].begin](int64_t x) {
          const int64_t number = is_long_ ? numbers_[x] : found_[static_cast<size_t>(x)];
          *position++ = static_cast<std::decay_t<decltype(*position)>>(begin + number);
        });
      }
    });
  }

  const RelationRows& task_;
  const DrawKeys keys_;
  const PickRule rule_;
  RowEdges edges_;
  std::vector<Row> listed_;  // of each row: where its list begins, and how long it is
  std::vector<uint32_t> found_ = std::vector<uint32_t>(kListed + kWithinPadding);
  EdgeNumbers numbers_{std::span<const int64_t>()};
  bool is_long_ = false;  // the list is numbers_, of one row
};

// The k latest; of one time, those that stand later in the row. Of one thread.
class LatestRule final : public EdgeRule {
 public:
  explicit LatestRule(const RelationRows& task) : task_(task), edges_(task) {}

  void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) override {
    take_each(task_, piece, *this, picks, sizes);
  }
  void pick(const Row& row, size_t i, EdgePicks& picks) {
    find_latest(row, task_.allowed[i]);
    picks.take(std::ssize(latest_),
               [&](int64_t e) { return row.begin + latest_[static_cast<size_t>(e)]; });
  }
  [[nodiscard]] bool reads_sources() const { return edges_.reads_sources(); }
  void request(const Row& row, size_t /*i*/) const { edges_.request(row); }
  void touch(const Row& row, size_t /*i*/) const { edges_.touch(row); }

 private:
  void find_latest(const Row& row, const TimeSpan& allowed) {
    const int64_t k =
        task_.fanout == kAllNeighbors ? row.degree : std::min(row.degree, task_.fanout);
    const EdgeNumbers edges = edges_.latest(row, allowed, k);
    latest_.resize(static_cast<size_t>(edges.size()));
    edges.copy(0, edges.size(), latest_.data());
    if (edges.size() > k && !keep_few(row, k)) keep_latest(row, k);
  }

  // Of a few edges, counts for each those of later ranks, without a branch on a rank. False, and
  // changes nothing, where there are more, or where edges of the same rank are kept only in part.
  bool keep_few(const Row& row, int64_t k) {
    const size_t size = latest_.size();
    if (size > kFew || !edges_.has_short_ranks()) return false;
    constexpr int kHalf = 1 << 15;  // ranks as signed numbers, which SSE2 can compare
    std::array<int16_t, kFew> ranks, later = {};
    ranks.fill(-kHalf);
    for (size_t e = 0; e < size; ++e)
      ranks[e] = static_cast<int16_t>(edges_.rank(row.begin + latest_[e]) - kHalf);
    for (size_t e = 0; e < size; ++e) {
      const int16_t rank = ranks[e];
      for (size_t other = 0; other < kFew; ++other)
        later[other] = static_cast<int16_t>(later[other] + (ranks[other] < rank ? 1 : 0));
    }
    const auto is_kept = [k](int16_t num_later) { return num_later < k; };
    if (std::count_if(later.begin(), later.begin() + std::ssize(latest_), is_kept) != k)
      return false;
    size_t kept = 0;
    for (size_t e = 0; e < size; ++e) {
      latest_[kept] = latest_[e];
      kept += is_kept(later[e]) ? 1 : 0;
    }
    latest_.resize(kept);
    return true;
  }

  // All of a later rank than the k-th, and of those with its rank the latest.
  void keep_latest(const Row& row, int64_t k) {
    const auto rank_of = [&](int64_t x) { return edges_.rank(row.begin + x); };
    ranks_.resize(latest_.size());
    std::transform(latest_.begin(), latest_.end(), ranks_.begin(), rank_of);
    std::nth_element(ranks_.begin(), ranks_.end() - k, ranks_.end());
    const int64_t kth = *(ranks_.end() - k);
    const auto is_later = [kth](int64_t rank) { return rank > kth; };
    const int64_t of_kth = k - std::count_if(ranks_.end() - k, ranks_.end(), is_later);
    tied_.clear();
    std::erase_if(latest_, [&](int64_t x) {
      const int64_t rank = rank_of(x);
      if (rank == kth) tied_.emplace_back(0, x);
      return rank <= kth;
    });
    const int64_t taken = std::min(of_kth, std::ssize(tied_));  // times may change
    if (std::ssize(tied_) > taken) {
      for (auto& [time, x] : tied_)
        time = edges_.time(row.begin + x);
      std::nth_element(tied_.begin(), tied_.end() - taken, tied_.end());
    }
    std::transform(tied_.end() - taken, tied_.end(), std::back_inserter(latest_),
                   [](const auto& edge) { return edge.second; });
    std::sort(latest_.begin(), latest_.end());
  }

  static constexpr size_t kFew = 32;  // most rows have as many, with the fanouts in use

  const RelationRows& task_;
  RowEdges edges_;
  std::vector<int64_t> latest_;  // numbers in the row, ascending
  std::vector<int64_t> ranks_;
  std::vector<std::pair<int64_t, int64_t>> tied_;  // time, number in the row
};

}  // namespace

template <typename Id>
Relation sample_in_time(const RelationTask<Id>& task,
                        const DrawKeys& keys,
                        bool replace,
                        ScanScratch& scratch,
                        BufferPool& pool,
                        int threads) {
  if (replace && task.num_dst() > 0 && task.fanout > kMaxPicks / task.num_dst())
    throw_too_many_picks(task.edges, task.fanout, task.num_dst(), kMaxPicks);
  const auto make_rule = [&](const RelationRows& rows) -> std::unique_ptr<EdgeRule> {
    if (rows.times->rule.strategy == Strategy::kLast) return std::make_unique<LatestRule>(rows);
    return std::make_unique<EvenlyRule>(rows, keys, replace);
  };
  return scan_edges(task, scratch, pool, threads, false, make_rule);
}

template Relation sample_in_time(
    const RelationTask<int32_t>&, const DrawKeys&, bool, ScanScratch&, BufferPool&, int);
template Relation sample_in_time(
    const RelationTask<int64_t>&, const DrawKeys&, bool, ScanScratch&, BufferPool&, int);

}  // namespace ramet
