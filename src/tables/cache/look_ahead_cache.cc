#include "look_ahead_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kClasses = 256;
constexpr int32_t kRepeat = std::numeric_limits<int32_t>::max();  // the batch has the row already
constexpr int32_t kPositions = std::numeric_limits<int32_t>::max();  // a mask
constexpr int32_t kFirstPosition = kPositions - 99;  // every cache passes the wrap soon
constexpr int64_t kMostUses = int64_t{1} << 30;
constexpr size_t kLeastRing = 1024;
constexpr size_t kUsesAhead = 32;

int64_t lists_of(int window) {
  return kClasses + window + 1;
}

int64_t class_of(int32_t none) {
  return -1 - none;
}

uint8_t use_class(int64_t count) {
  if (count < 8) return static_cast<uint8_t>(std::max<int64_t>(count, 0));
  const int exponent = static_cast<int>(std::bit_width(static_cast<uint64_t>(count))) - 1;
  const int64_t eighth = (count >> (exponent - 3)) & 7;
  return static_cast<uint8_t>(std::min<int64_t>((exponent - 2) * 8 + eighth, kClasses - 1));
}

}  // namespace

std::vector<uint8_t> use_classes(std::span<const int64_t> counts) {
  std::vector<uint8_t> classes(counts.size());
  std::transform(counts.begin(), counts.end(), classes.begin(), use_class);
  return classes;
}

// Rows that a batch evicts. They learn of it a little later, once their memory is close; at the
// latest when this is destroyed.
class LookAheadCache::Evicted {
 public:
  explicit Evicted(LookAheadCache& cache) : cache_(cache) {}
  ~Evicted() {
    for (size_t i = count_ - std::min(count_, rows_.size()); i < count_; ++i)
      forget(i);
  }
  Evicted(const Evicted&) = delete;
  Evicted& operator=(const Evicted&) = delete;

  void add(int64_t id) {
    __builtin_prefetch(&cache_.row(id), 1);
    if (count_ >= rows_.size()) forget(count_);
    rows_[count_++ % rows_.size()] = id;
  }

 private:
  void forget(size_t i) { cache_.row(rows_[i % rows_.size()]).slot = -1; }

  LookAheadCache& cache_;
  std::array<int64_t, kUsesAhead> rows_{};
  size_t count_ = 0;
};

LookAheadCache::LookAheadCache(int64_t capacity,
                               int64_t num_rows,
                               int window,
                               std::span<const uint8_t> classes)
    : CachePolicy(capacity, num_rows, window),
      rows_(static_cast<size_t>(num_rows), Row{-1, -1}),
      next_uses_(kLeastRing),
      begin_(kFirstPosition),
      end_(kFirstPosition),
      lists_(this->capacity(), lists_of(window)) {
  if (!classes.empty() && classes.size() != rows_.size())
    throw_invalid(classes.size(), " classes of ", num_rows, " rows");
  for (size_t r = 0; r < classes.size(); ++r)
    rows_[r].last = -1 - classes[r];
  row_of_slot_.reserve(static_cast<size_t>(this->capacity()));
}

int64_t LookAheadCache::memory_bytes() const {
  return static_cast<int64_t>(rows_.size() * sizeof(Row) + next_uses_.size() * sizeof(NextUse) +
                              row_of_slot_.capacity() * sizeof(int64_t)) +
         lists_.memory_bytes();
}

void LookAheadCache::prepare(int64_t rows) {
  const int64_t held = (end_ - begin_) & kPositions;
  if (rows > kMostUses - held)
    throw_invalid(held, " row ids wait; ", rows, " more are more than ", kMostUses);
  const auto size = std::bit_ceil(static_cast<size_t>(held + rows));
  if (size <= next_uses_.size()) return;
  HugeVector<NextUse> ring(size);
  for (int64_t i = 0; i < held; ++i) {
    const int64_t position = (begin_ + i) & kPositions;
    ring[static_cast<size_t>(position) & (size - 1)] = next_use(position);
  }
  next_uses_ = std::move(ring);
}

void LookAheadCache::look_at(const Array& ids) {
  with_ids(ids, [&](auto values) { link_uses(values); });
  end_ = static_cast<int32_t>((end_ + ids.rows()) & kPositions);
  ahead_ = ahead_ == window() ? 0 : ahead_ + 1;
}

// Asks for what link_uses() will need of a row that is here already: the use before, or the row's
// position in its list.
void LookAheadCache::prefetch_use(const Row& used) const {
  if (used.last >= 0)
    __builtin_prefetch(&next_uses_[at(used.last)], 1);
  else if (used.slot >= 0)
    lists_.prefetch(used.slot);
}

// What is known last of a row moves on to its new use; the use before it learns of the new one.
template <typename Ids>
void LookAheadCache::link_uses(const Ids& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + 2 * kUsesAhead < ids.size()) __builtin_prefetch(&row(ids[i + 2 * kUsesAhead]), 1);
    if (i + kUsesAhead < ids.size()) prefetch_use(row(ids[i + kUsesAhead]));
    Row& used = row(ids[i]);
    const int64_t position = (int64_t{end_} + static_cast<int64_t>(i)) & kPositions;
    if (used.last < 0) {
      next_use(position) = used.last;
      if (used.slot >= 0) {
        lists_.remove(used.slot);
        lists_.add_first(kClasses + ahead_, used.slot);
      }
    } else if (((int64_t{used.last} - end_) & kPositions) < static_cast<int64_t>(i)) {
      next_use(position) = kRepeat;
      continue;
    } else {
      NextUse& before = next_use(used.last);
      next_use(position) = before;
      before = ahead_;
    }
    used.last = static_cast<int32_t>(position);
  }
}

void LookAheadCache::take(const Array& ids, CacheUse& use) {
  lists_.clear(kClasses + now_);  // all of its rows are in the batch
  with_ids(ids, [&](auto values) { file_hits(values, use); });
  take_in(use);
  begin_ = static_cast<int32_t>((begin_ + ids.rows()) & kPositions);
  now_ = now_ == window() ? 0 : now_ + 1;
}

// Finds out which rows are here, and files these by their next uses.
template <typename Ids>
void LookAheadCache::file_hits(const Ids& ids, CacheUse& use) {
  find_missing(ids, use, [&](size_t i) {
    if (i + 2 * kUsesAhead < ids.size()) __builtin_prefetch(&row(ids[i + 2 * kUsesAhead]), 1);
    if (i + kUsesAhead < ids.size()) {
      const int32_t ahead = row(ids[i + kUsesAhead]).slot;
      if (ahead >= 0) lists_.prefetch(ahead);
    }
    Row& used = row(ids[i]);
    const NextUse next = next_use((begin_ + static_cast<int64_t>(i)) & kPositions);
    if (next == kRepeat) return used.slot;
    if (next < 0) used.last = next;
    if (used.slot >= 0) lists_.add_first(list_of(next), used.slot);
    return used.slot;
  });
}

// Takes missing rows in as long as they are worth more than what is here.
void LookAheadCache::take_in(CacheUse& use) {
  const size_t missing = use.missing.size();
  use.targets.assign(missing, -1);
  Evicted evicted(*this);
  int64_t worst = 0;  // nothing that is here is worth less
  for (size_t m = 0; m < missing; ++m) {
    if (m + kUsesAhead < missing) __builtin_prefetch(&row(use.missing[m + kUsesAhead]), 1);
    const NextUse next = next_use((begin_ + use.positions[m]) & kPositions);
    if (next == kRepeat) continue;
    const int32_t slot = slot_for(worth_of(next), worst, evicted);
    if (slot < 0) continue;
    use.targets[m] = slot;
    row(use.missing[m]).slot = slot;
    row_of_slot_[static_cast<size_t>(slot)] = use.missing[m];
    lists_.add_first(list_of(next), slot);
  }
  for (size_t m = 0; m < missing; ++m) {  // some had to go again for others of the batch
    int32_t& slot = use.targets[m];
    if (slot >= 0 && row_of_slot_[static_cast<size_t>(slot)] != use.missing[m]) slot = -1;
  }
}

// An empty slot, or that of the worst row where that is worth less than `worth`; else -1.
int32_t LookAheadCache::slot_for(int64_t worth, int64_t& worst, Evicted& evicted) {
  if (std::ssize(row_of_slot_) < capacity()) {
    row_of_slot_.push_back(-1);
    return static_cast<int32_t>(row_of_slot_.size()) - 1;
  }
  if (capacity() == 0) return -1;
  while (worst < worth && lists_.empty(list_of_worth(worst)))
    ++worst;
  if (worst >= worth) return -1;
  const int32_t slot = lists_.last(list_of_worth(worst));
  lists_.remove(slot);
  evicted.add(row_of_slot_[static_cast<size_t>(slot)]);
  return slot;
}

int64_t LookAheadCache::list_of(NextUse next) {
  return next < 0 ? class_of(next) : kClasses + next;
}

int64_t LookAheadCache::worth_of(NextUse next) const {
  if (next < 0) return class_of(next);
  const int distance = next > now_ ? next - now_ : next - now_ + window() + 1;
  return kClasses + window() - distance;
}

int64_t LookAheadCache::list_of_worth(int64_t worth) const {
  if (worth < kClasses) return worth;
  const int64_t batch = now_ + kClasses + window() - worth;
  return kClasses + (batch > window() ? batch - window() - 1 : batch);
}

}  // namespace ramet
