#include "temporal_sampler.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "ascending.h"
#include "base/first_where.h"
#include "kernels/cpu/pick.h"
#include "ramet/sampler.h"
#include "row_edges.h"
#include "row_picker.h"
#include "rows_by_time.h"

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
      for_each_touched(i, 2 * kAhead, rows.size(),
                       [this, rows = rows](size_t j) { edges_.touch(rows[j]); });
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

// How many edges of a row are taken, at most.
int64_t num_wanted(const RelationRows& task, const Row& row) {
  return task.fanout == kAllNeighbors ? row.degree : std::min(row.degree, task.fanout);
}

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
    const int64_t k = num_wanted(task_, row);
    const EdgeNumbers edges = edges_.in(row, allowed);
    latest_.resize(static_cast<size_t>(edges.size()));
    edges.copy(0, edges.size(), latest_.data());
    if (edges.size() > k) keep_latest(row, k);
  }

  void keep_latest(const Row& row, int64_t k) {
    keys_.clear();
    for (const int64_t x : latest_)
      keys_.emplace_back(edges_.time(row.begin + x), x);
    std::nth_element(keys_.begin(), keys_.end() - k, keys_.end());
    latest_.clear();
    std::transform(keys_.end() - k, keys_.end(), std::back_inserter(latest_),
                   [](const auto& edge) { return edge.second; });
    std::sort(latest_.begin(), latest_.end());
  }

  const RelationRows& task_;
  RowEdges edges_;
  std::vector<int64_t> latest_;                    // numbers in the row, ascending
  std::vector<std::pair<int64_t, int64_t>> keys_;  // time, number in the row
};

// The same where rows are known by time. The ends of what times allow are searched side by side.
class LatestByTimeRule final : public EdgeRule {
 public:
  LatestByTimeRule(const RelationRows& task, const RowsByTime& by_time)
      : task_(task), by_time_(by_time), edges_(task) {}

  void take(const PieceOfRows& piece, EdgePicks& picks, int64_t* sizes) override {
    for (size_t first = 0; first < piece.rows.size(); first += kTogether) {
      const auto rows = piece.rows.subspan(first, std::min(kTogether, piece.rows.size() - first));
      const auto allowed = task_.allowed.subspan(piece.first + first, rows.size());
      for (size_t i = 0; i < rows.size(); ++i)
        last_[i] = codes_of(allowed[i]).last;
      by_time_.find_ends(rows, std::span(last_).first(rows.size()), ends_.data());
      for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t before = picks.size();
        if (!allowed[i].is_empty()) pick(rows[i], allowed[i], ends_[i], picks);
        sizes[first + i] = picks.size() - before;
      }
    }
  }

 private:
  static constexpr size_t kTogether = 512;

  CodeSpan codes_of(const TimeSpan& allowed) {  // most often those of the row before
    if (allowed != coded_ && !allowed.is_empty()) codes_ = by_time_.codes().of(coded_ = allowed);
    return codes_;
  }

  // `end`: behind the entries that the codes allow.
  void pick(const Row& row, const TimeSpan& allowed, int64_t end, EdgePicks& picks) {
    const CodeSpan codes = codes_of(allowed);
    const bool is_coded = RowsByTime::is_coded(row);
    const auto is_late = [&](int64_t at) { return time(row, at) > allowed.last; };
    if (!is_coded) {
      end = first_where(row.begin, row.begin + row.degree, is_late);
    } else if (codes.cuts_last && end > row.begin && by_time_.code(end - 1) == codes.last) {
      end = first_where(row.begin, end, is_late);
    }
    const auto is_early = [&](int64_t at) {
      if (allowed.first == kFirstTime) return false;
      const int code = is_coded ? by_time_.code(at) : codes.first;
      if (is_coded && (code != codes.first || !codes.cuts_first)) return code < codes.first;
      return time(row, at) < allowed.first;
    };
    collect(row, end, is_early);
    take_ascending(row, picks);
  }

  // The numbers of the last k entries before `end`, without the excluded ones.
  template <typename IsEarly>
  void collect(const Row& row, int64_t end, const IsEarly& is_early) {
    const auto excluded = task_.excluded_in(row);
    const int64_t k = num_wanted(task_, row);
    numbers_.clear();
    for (int64_t at = end - 1; at >= row.begin && std::ssize(numbers_) < k; --at) {
      const uint32_t number = by_time_.number(row, at);
      if (number >= row.degree || is_early(at)) break;  // rows may change
      if (!std::binary_search(excluded.begin(), excluded.end(), row.begin + number))
        numbers_.push_back(number);
    }
  }

  void take_ascending(const Row& row, EdgePicks& picks) {
    const size_t count = numbers_.size();
    if (count > kMostRanked) {
      std::sort(numbers_.begin(), numbers_.end());
      return picks.take(std::ssize(numbers_),
                        [&](int64_t i) { return row.begin + numbers_[static_cast<size_t>(i)]; });
    }
    std::copy_n(numbers_.begin(), count, few_);
    picks.add(std::ssize(numbers_), [&](auto* position) {
      using Position = std::decay_t<decltype(*position)>;
      rank_few(few_, count, [&](size_t rank, uint32_t number) {
        position[rank] = static_cast<Position>(row.begin + number);
      });
    });
  }

  // Of the edge of an entry. Rows may change: of any edge where the entry has none.
  [[nodiscard]] int64_t time(const Row& row, int64_t at) const {
    return edges_.time(row.begin + std::min<int64_t>(by_time_.number(row, at), row.degree - 1));
  }

  const RelationRows& task_;
  const RowsByTime& by_time_;
  RowEdges edges_;
  TimeSpan coded_ = {0, -1};
  CodeSpan codes_ = {};  // of coded_
  std::array<int, kTogether> last_ = {};
  std::array<int64_t, kTogether> ends_ = {};
  std::vector<uint32_t> numbers_;
  uint32_t few_[kMostRanked] = {};
};

std::unique_ptr<EdgeRule> latest_rule(const RelationRows& rows) {
  const RowsByTime* const by_time = known_rows(*rows.times);
  if (by_time == nullptr) return std::make_unique<LatestRule>(rows);
  return std::make_unique<LatestByTimeRule>(rows, *by_time);
}

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
    if (rows.times->rule.strategy == Strategy::kLast) return latest_rule(rows);
    return std::make_unique<EvenlyRule>(rows, keys, replace);
  };
  return scan_edges(task, scratch, pool, threads, false, make_rule);
}

template Relation sample_in_time(
    const RelationTask<int32_t>&, const DrawKeys&, bool, ScanScratch&, BufferPool&, int);
template Relation sample_in_time(
    const RelationTask<int64_t>&, const DrawKeys&, bool, ScanScratch&, BufferPool&, int);

}  // namespace ramet
