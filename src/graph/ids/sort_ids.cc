// A sort by words of 8 bytes: all ids by their first, then each run of ids whose words are equal by
// the next, until an id ends. It reads each word once, unlike a sort that compares ids. This is
// multikey quicksort (Bentley, Sedgewick: "Fast algorithms for sorting and searching strings", SODA
// 1997) over words in place of bytes.
#include "graph/ids/sort_ids.h"

#include <algorithm>
#include <compare>
#include <span>
#include <vector>

#include "base/parallel.h"

namespace ramet {
namespace {

constexpr size_t kWordBytes = 8;
constexpr int64_t kLoadGrain = 1 << 14;
constexpr size_t kSortGrain = 1 << 16;
// Runs up to this many ids are sorted by whole ids: another pass over the words would cost more.
constexpr size_t kShortRun = 16;
constexpr int64_t kShortGrain = 1 << 8;
constexpr size_t kShortRunsAtOnce = size_t{1} << 16;

// Ids with equal words: those that end first come first. `end` is kWordBytes + 1 where more
// follows.
struct SortRecord {
  uint64_t word;
  uint64_t end : 4;
  uint64_t position : 60;
  [[nodiscard]] bool is_tied_with(const SortRecord& other) const {
    return word == other.word && end > kWordBytes && other.end > kWordBytes;
  }
  [[nodiscard]] bool operator<(const SortRecord& other) const {
    if (word != other.word) return word < other.word;
    return end != other.end ? end < other.end : position < other.position;
  }
};
static_assert(sizeof(SortRecord) == 16);

using Records = std::span<SortRecord>;

struct TiedRun {
  Records records;
  size_t depth;  // bytes that all of them share
};

template <typename Ids>
void load_words(const Ids& ids, const TiedRun& run, int threads) {
  const auto count = static_cast<int64_t>(run.records.size());
  parallel_for(count, kLoadGrain, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      SortRecord& record = run.records[i];
      record.word = ids.order_word(record.position, run.depth);
      record.end = std::min(ids.rest(record.position, run.depth), kWordBytes + 1) & 15;
    }
  });
}

// Splits at medians until there is a piece for each thread, and sorts the pieces side by side.
void sort_records(Records records, int threads) {
  std::vector<Records> pieces{records};
  while (pieces.size() < static_cast<size_t>(threads) && pieces[0].size() > kSortGrain) {
    std::vector<Records> halves;
    for (const Records piece : pieces) {
      const auto middle = piece.size() / 2;
      std::nth_element(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(middle), piece.end());
      halves.push_back(piece.first(middle));
      halves.push_back(piece.subspan(middle));
    }
    pieces = std::move(halves);
  }
  parallel_for(static_cast<int64_t>(pieces.size()), 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::sort(pieces[static_cast<size_t>(i)].begin(), pieces[static_cast<size_t>(i)].end());
  });
}

// The runs of ids that need more than the word: short ones are sorted, long ones added to `runs`.
template <typename Ids>
void split_ties(const Ids& ids, const TiedRun& run, std::vector<TiedRun>& runs, int threads) {
  std::vector<Records> short_runs;
  const auto sort_short = [&] {
    const auto count = static_cast<int64_t>(short_runs.size());
    parallel_for(count, kShortGrain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Records records = short_runs[static_cast<size_t>(i)];
        std::sort(records.begin(), records.end(), [&ids](const auto& one, const auto& other) {
          return ids[one.position] < ids[other.position];
        });
      }
    });
    short_runs.clear();
  };
  const Records records = run.records;
  for (size_t begin = 0, end = 1; begin < records.size(); begin = end++) {
    while (end < records.size() && records[begin].is_tied_with(records[end]))
      ++end;
    const Records tied = records.subspan(begin, end - begin);
    if (tied.size() > kShortRun)
      runs.push_back({tied, run.depth + kWordBytes});
    else if (tied.size() > 1)
      short_runs.push_back(tied);
    if (short_runs.size() == kShortRunsAtOnce) sort_short();
  }
  sort_short();
}

bool is_one_tie(Records records) {
  return records.front().end > kWordBytes &&
         std::all_of(records.begin(), records.end(),
                     [&](const SortRecord& r) { return r.is_tied_with(records.front()); });
}

template <typename Position>
void keep_positions(Records records, Position* positions) {
  // Position i is within record i or before it, which has been read.
  for (size_t i = 0; i < records.size(); ++i) {
    const auto position = static_cast<Position>(records[i].position);
    std::memcpy(positions + i, &position, sizeof position);
  }
}

}  // namespace

template <typename Ids>
void sort_ids(const Ids& ids, bool wide, GrowingMemory& memory, int threads) {
  if (threads <= 0) threads = hardware_threads();
  memory.grow(static_cast<int64_t>(ids.size() * sizeof(SortRecord)));
  const Records records(memory.as<SortRecord>(), ids.size());
  for (size_t i = 0; i < records.size(); ++i)
    records[i].position = i & ((uint64_t{1} << 60) - 1);
  std::vector<TiedRun> runs;
  if (ids.size() > 0) runs.push_back({records, 0});
  while (!runs.empty()) {
    const TiedRun run = runs.back();
    runs.pop_back();
    load_words(ids, run, threads);
    if (is_one_tie(run.records)) {
      runs.push_back({run.records, run.depth + kWordBytes});
      continue;
    }
    sort_records(run.records, threads);
    split_ties(ids, run, runs, threads);
  }
  if (wide)
    keep_positions(records, memory.as<int64_t>());
  else
    keep_positions(records, memory.as<int32_t>());
  memory.shrink(static_cast<int64_t>(ids.size() * (wide ? sizeof(int64_t) : sizeof(int32_t))));
}

template void sort_ids(const IntegerIds&, bool, GrowingMemory&, int);
template void sort_ids(const TextIds&, bool, GrowingMemory&, int);

}  // namespace ramet
