#include "base/row_groups.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>

#include "base/parallel.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kEntriesOfBucket = 512;  // on average
constexpr int kMostRowBits = 32;           // of a bucket's rows
constexpr int kDigitBits = 8;
constexpr size_t kFew = 32;  // entries that std::sort is faster for

int shift_for(int64_t rows, int64_t entries) {
  const auto buckets = static_cast<uint64_t>(std::max<int64_t>(1, entries / kEntriesOfBucket));
  const uint64_t rows_of_bucket = (static_cast<uint64_t>(rows) + buckets - 1) / buckets;
  return std::min(kMostRowBits, static_cast<int>(std::bit_width(rows_of_bucket)));
}

int64_t check(std::span<const RowList> lists, int64_t num_rows) {
  int64_t total = 0;
  for (const auto& [ids, rows] : lists) {
    const auto outside = std::find_if(ids.begin(), ids.end(), [&](int64_t id) {
      return static_cast<uint64_t>(id) >= static_cast<uint64_t>(num_rows);
    });
    if (outside != ids.end())
      throw_error(ErrorCode::kOutOfRange, "ids[", outside - ids.begin(), "] = ", *outside,
                  " is outside the ", num_rows, " rows");
    total += std::ssize(ids);
  }
  if (total > std::numeric_limits<uint32_t>::max())
    throw_invalid(total, " ids at once, at most ", std::numeric_limits<uint32_t>::max(),
                  " are possible");
  return total;
}

// By row, of which the lowest `row_bits` differ. Entries come in the order of their positions, and
// a radix sort from the lowest digit up keeps that order. What is returned lies in `entries` or in
// `scratch`.
std::span<RowEntry> sort_by_row(std::span<RowEntry> entries,
                                int row_bits,
                                std::vector<RowEntry>& scratch) {
  if (entries.size() <= kFew) {
    std::sort(entries.begin(), entries.end());
    return entries;
  }
  scratch.resize(std::max(scratch.size(), entries.size()));
  std::span<RowEntry> from = entries, to = std::span(scratch).first(entries.size());
  for (int low = 0; low < row_bits; low += kDigitBits) {
    std::array<uint32_t, (1 << kDigitBits) + 1> next{};
    const auto digit_of = [low](RowEntry entry) {
      return (entry >> (32 + low)) & ((1 << kDigitBits) - 1);
    };
    for (const RowEntry entry : from)
      ++next[digit_of(entry) + 1];
    for (size_t digit = 1; digit < next.size(); ++digit)
      next[digit] += next[digit - 1];
    for (const RowEntry entry : from)
      to[next[digit_of(entry)]++] = entry;
    std::swap(from, to);
  }
  return from;
}

}  // namespace

RowGroups::RowGroups(std::span<const RowList> lists, int64_t num_rows, int64_t begin, int64_t end)
    : begin_(begin), end_(end) {
  const int64_t total = check(lists, num_rows);
  shift_ = shift_for(end - begin, total);
  const auto is_own = [&](int64_t id) { return id >= begin_ && id < end_; };
  starts_.assign(end_ > begin_ ? bucket_of(end_ - 1) + 2 : 1, 0);
  for (const auto& [ids, rows] : lists) {
    for (const int64_t id : ids)
      if (is_own(id)) ++starts_[bucket_of(id) + 1];
  }
  for (size_t b = 1; b < starts_.size(); ++b)
    starts_[b] += starts_[b - 1];
  entries_.resize(static_cast<size_t>(starts_.back()));
  std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
  const int64_t mask = (int64_t{1} << shift_) - 1;
  RowEntry position = 0;
  for (const auto& [ids, rows] : lists) {
    for (const int64_t id : ids) {
      if (is_own(id)) {
        const auto entry = static_cast<RowEntry>((id - begin_) & mask) << 32 | position;
        entries_[static_cast<size_t>(next[bucket_of(id)]++)] = entry;
      }
      ++position;
    }
  }
}

void RowGroups::visit(int threads, FunctionRef<void(const RowBucket&)> body) {
  const auto buckets = static_cast<int64_t>(starts_.size()) - 1;
  parallel_for(buckets, 1, threads, [&](int64_t first, int64_t last) {
    std::vector<RowEntry> scratch;
    for (int64_t b = first; b < last; ++b) {
      const auto from = starts_[static_cast<size_t>(b)], to = starts_[static_cast<size_t>(b) + 1];
      const std::span<RowEntry> entries(entries_.data() + from, static_cast<size_t>(to - from));
      if (entries.empty()) continue;
      body({.first_row = begin_ + (b << shift_), .entries = sort_by_row(entries, shift_, scratch)});
    }
  });
}

}  // namespace ramet
