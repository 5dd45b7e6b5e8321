#include "record_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/narrow.h"
#include "base/system/space.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kMostCacheRows = int64_t{1} << 30;
constexpr int64_t kFillBytes = int64_t{1} << 20;  // of new rows at a time

// `left`: bytes of memory that somebody else is about to leave.
int64_t checked_capacity(int64_t cache_rows, int64_t num_rows, int64_t record_bytes, int64_t left) {
  if (cache_rows < 0) throw_invalid("cache_rows is ", cache_rows, ", expected at least 0");
  const int64_t capacity = std::min(cache_rows, num_rows);
  if (capacity > kMostCacheRows)
    throw_invalid("cache_rows is ", capacity, ", expected at most ", kMostCacheRows);
  require_memory(std::max<int64_t>(capacity * record_bytes - left, 0),
                 concat("a cache of ", capacity, " records"));
  return capacity;
}

bool is_zero(const std::byte* data, int64_t size) {
  return std::all_of(data, data + size, [](std::byte b) { return b == std::byte{0}; });
}

std::byte* row_of(const Array& rows, int64_t i) {
  return static_cast<std::byte*>(rows.data) + i * rows.row_bytes();
}

}  // namespace

RecordCache::RecordCache(int64_t num_rows,
                         NodeRows owned,
                         std::vector<RecordColumn> columns,
                         const RecordTableOptions& options,
                         const RecordCache* predecessor)
    : num_rows_(num_rows),
      cache_rows_(checked_capacity(options.cache_rows,
                                   owned.num_rows(),
                                   layout_of(columns).bytes,
                                   predecessor == nullptr ? 0 : predecessor->memory_.bytes())),
      init_(options.init),
      memory_(std::move(columns), owned.num_rows()),
      file_(std::make_unique<RecordFile>(
          options.folder, owned, memory_.layout().bytes, options.method)),
      slots_(std::move(owned)) {}

RecordCounts RecordCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

int64_t RecordCache::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_.bytes() + slots_.memory_bytes() + file_->memory_bytes();
}

int64_t RecordCache::file_bytes() const {
  return file_->bytes();
}

void RecordCache::count_use(int64_t hits, int64_t misses) {
  const std::lock_guard lock(mutex_);
  counts_.hits += hits;
  counts_.misses += misses;
}

void RecordCache::count_ahead() {
  const std::lock_guard lock(mutex_);
  ++counts_.read_ahead;
}

void RecordCache::note_read(const ReadCounts& counts) {
  const std::lock_guard lock(mutex_);
  counts_.read += counts;
}

void RecordCache::note_written(const ReadCounts& counts) {
  const std::lock_guard lock(mutex_);
  counts_.written += counts;
}

bool RecordCache::hold_found(std::span<const int64_t> ids, Holds& holds) {
  const std::lock_guard lock(mutex_);
  holds.reserve(ids.size());
  for (const int64_t id : ids) {
    const int32_t slot = slots_.find(id);
    if (slot < 0) {
      for (const int32_t held : holds)
        slots_.release(held);
      holds.clear();
      return false;
    }
    slots_.hold(slot);
    holds.push_back(slot);
  }
  return true;
}

std::optional<int64_t> RecordCache::bring_in(std::span<const int64_t> ids,
                                             bool within_room,
                                             int threads,
                                             Holds& holds) {
  const std::lock_guard exchanging(exchange_mutex_);
  try {
    std::vector<int64_t> incoming = hold_some(ids, holds);
    const auto found = std::ssize(holds);
    Holds leaving;
    if (!choose_leaving(incoming.size(), within_room, leaving)) {
      release(holds);
      return std::nullopt;
    }
    if (!incoming.empty()) exchange(incoming, leaving, threads, holds);
    return found;
  } catch (...) {
    release(holds);
    throw;
  }
}

void RecordCache::release(Holds& holds) {
  const std::lock_guard lock(mutex_);
  for (const int32_t slot : holds)
    slots_.release(slot);
  holds.clear();
}

// Holds those in memory, and returns the others: ascending, each once.
std::vector<int64_t> RecordCache::hold_some(std::span<const int64_t> ids, Holds& holds) {
  std::vector<int64_t> others;
  {
    const std::lock_guard lock(mutex_);
    holds.reserve(2 * ids.size());  // of the others, too
    for (const int64_t id : ids) {
      const int32_t slot = slots_.find(id);
      if (slot < 0) {
        others.push_back(id);
        continue;
      }
      slots_.hold(slot);
      holds.push_back(slot);
    }
  }
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  return others;
}

// Takes slots of rows that make room for so many. False where there is not enough, and it matters.
bool RecordCache::choose_leaving(size_t incoming, bool within_room, Holds& leaving) {
  const std::lock_guard lock(mutex_);
  int64_t wanted = slots_.taken() + static_cast<int64_t>(incoming) - cache_rows_;
  if (within_room && incoming > 0 && wanted > slots_.unheld()) return false;
  wanted = std::min(wanted, slots_.unheld());
  if (incoming == 0 || wanted <= 0) return true;
  leaving.reserve(static_cast<size_t>(wanted));
  for (; wanted > 0; --wanted)
    leaving.push_back(slots_.take_oldest());
  return true;
}

// Reads the rows `incoming`, which it reorders, while those that leave are written.
void RecordCache::exchange(std::vector<int64_t>& incoming,
                           const Holds& leaving,
                           int threads,
                           Holds& holds) {
  const auto first_new = std::stable_partition(incoming.begin(), incoming.end(),
                                               [this](int64_t row) { return file_->has(row); });
  const std::span<const int64_t> rows(incoming);
  const auto stored = rows.first(static_cast<size_t>(first_new - incoming.begin()));
  Holds slots;
  bool left = false;
  try {
    RecordReads reads(*file_, stored);
    write_back(leaving);
    left = true;
    slots = take_slots(rows, leaving);
    note_read(reads.finish([&](size_t first, size_t count, const std::byte* records) {
      for (size_t i = 0; i < count; ++i)
        memory_.unpack(records + static_cast<int64_t>(i) * file_->record_bytes(), slots[first + i]);
    }));
    fill(rows.subspan(stored.size()), std::span(slots).subspan(stored.size()), threads);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!left)
      std::for_each(leaving.rbegin(), leaving.rend(),
                    [this](int32_t slot) { slots_.put_back(slot); });
    for (const int32_t slot : slots)
      slots_.free(slot);
    throw;
  }
  const std::lock_guard lock(mutex_);
  for (const int32_t slot : slots) {
    slots_.publish(slot);
    holds.push_back(slot);
  }
}

void RecordCache::write_back(const Holds& leaving) {
  Holds changed;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(leaving.begin(), leaving.end(), std::back_inserter(changed),
                 [this](int32_t slot) { return slots_.changed(slot); });
  }
  const auto by_row = [this](int32_t a, int32_t b) { return slots_.row(a) < slots_.row(b); };
  std::sort(changed.begin(), changed.end(), by_row);
  std::vector<int64_t> rows(changed.size());
  std::transform(changed.begin(), changed.end(), rows.begin(),
                 [this](int32_t slot) { return slots_.row(slot); });
  const int64_t padding = file_->record_bytes() - memory_.layout().bytes;
  note_written(file_->write(rows, [&](size_t i, std::byte* to) {
    memory_.pack(changed[i], to);
    std::memset(to + memory_.layout().bytes, 0, static_cast<size_t>(padding));
  }));
}

// Slots for `rows`, after those that have left are free.
Holds RecordCache::take_slots(std::span<const int64_t> rows, const Holds& leaving) {
  Holds slots;
  slots.reserve(rows.size());
  const std::lock_guard lock(mutex_);
  for (const int32_t slot : leaving)
    slots_.free(slot);
  try {
    for (const int64_t row : rows)
      slots.push_back(slots_.take(row));
    memory_.grow(slots_.size());
  } catch (...) {
    for (const int32_t slot : slots)
      slots_.free(slot);
    throw;
  }
  return slots;
}

Array RecordCache::initial_rows(std::span<const int64_t> rows, int threads) const {
  const RecordColumn& weights = memory_.columns().front();
  std::vector<int64_t> shape{std::ssize(rows)};
  shape.insert(shape.end(), weights.shape.begin(), weights.shape.end());
  Array out = BufferPool::shared()->allocate_array(weights.dtype, shape);
  out.writable = true;
  if (init_.distribution) {
    init_rows(out, *init_.distribution, init_.seed, rows, num_rows_, threads);
    return out;
  }
  const auto width = out.row_bytes() / item_size(out.dtype);
  const std::vector<float> row(static_cast<size_t>(width), static_cast<float>(init_.value));
  for (int64_t i = 0; i < out.rows(); ++i)
    narrow_row(row.data(), width, out.dtype, row_of(out, i));
  return out;
}

// Writes what rows begin with to their slots.
void RecordCache::fill(std::span<const int64_t> rows,
                       std::span<const int32_t> slots,
                       int threads) const {
  const int64_t size = memory_.layout().sizes.front();
  const auto step = static_cast<size_t>(kFillBytes / std::max<int64_t>(size, 1) + 1);
  for (size_t begin = 0; begin < rows.size(); begin += step) {
    const auto some = rows.subspan(begin, std::min(step, rows.size() - begin));
    const Array initial = initial_rows(some, threads);
    for (size_t i = 0; i < some.size(); ++i) {
      const int32_t slot = slots[begin + i];
      std::memcpy(memory_.row(0, slot), row_of(initial, static_cast<int64_t>(i)),
                  static_cast<size_t>(size));
      memory_.clear_state(slot);
    }
  }
}

std::vector<int64_t> RecordCache::slots_of(std::span<const int64_t> ids) const {
  std::vector<int64_t> slots(ids.size());
  std::transform(ids.begin(), ids.end(), slots.begin(),
                 [this](int64_t id) { return int64_t{slots_.find(id)}; });
  return slots;
}

void RecordCache::set_changed(const Holds& holds) {
  const std::lock_guard lock(mutex_);
  for (const int32_t slot : holds)
    slots_.set_changed(slot, true);
}

int64_t RecordCache::num_slots() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

std::vector<Array> RecordCache::new_columns(int64_t rows) const {
  std::vector<Array> columns;
  for (const RecordColumn& column : memory_.columns()) {
    std::vector<int64_t> shape{rows};
    shape.insert(shape.end(), column.shape.begin(), column.shape.end());
    columns.push_back(BufferPool::shared()->allocate_array(column.dtype, shape));
    columns.back().writable = true;
  }
  return columns;
}

std::vector<Array> RecordCache::read(std::span<const int64_t> ids, int threads) {
  struct At {  // of some of the rows
    std::vector<int64_t> rows, positions;
    void push(int64_t row, int64_t position) {
      rows.push_back(row);
      positions.push_back(position);
    }
  };
  const std::lock_guard exchanging(exchange_mutex_);
  std::vector<Array> columns = new_columns(std::ssize(ids));
  const RecordLayout& layout = memory_.layout();
  const auto set = [&](size_t c, int64_t position, const std::byte* row) {
    std::memcpy(row_of(columns[c], position), row, static_cast<size_t>(layout.sizes[c]));
  };
  At stored, fresh;
  for (int64_t i = 0; i < std::ssize(ids); ++i) {
    const int64_t row = ids[static_cast<size_t>(i)];
    if (const int32_t slot = slots_.find(row); slot >= 0)
      for (size_t c = 0; c < columns.size(); ++c)
        set(c, i, memory_.row(c, slot));
    else
      (file_->has(row) ? stored : fresh).push(row, i);
  }
  RecordReads reads(*file_, stored.rows);
  const Array initial = initial_rows(fresh.rows, threads);
  for (size_t i = 0; i < fresh.rows.size(); ++i) {
    set(0, fresh.positions[i], row_of(initial, static_cast<int64_t>(i)));
    for (size_t c = 1; c < columns.size(); ++c)
      std::memset(row_of(columns[c], fresh.positions[i]), 0, static_cast<size_t>(layout.sizes[c]));
  }
  note_read(reads.finish([&](size_t first, size_t count, const std::byte* records) {
    for (size_t i = 0; i < count; ++i, records += file_->record_bytes())
      for (size_t c = 0; c < columns.size(); ++c)
        set(c, stored.positions[first + i], records + layout.offsets[c]);
  }));
  return columns;
}

bool RecordCache::is_initial(std::span<const Array> columns,
                             const Array& initial,
                             int64_t i) const {
  const std::vector<int64_t>& sizes = memory_.layout().sizes;
  if (std::memcmp(row_of(columns[0], i), row_of(initial, i), static_cast<size_t>(sizes[0])) != 0)
    return false;
  for (size_t c = 1; c < columns.size(); ++c)
    if (!is_zero(row_of(columns[c], i), sizes[c])) return false;
  return true;
}

void RecordCache::write(std::span<const int64_t> ids, std::span<const Array> columns) {
  const std::lock_guard exchanging(exchange_mutex_);
  const RecordLayout& layout = memory_.layout();
  const Array initial = initial_rows(ids, 0);
  std::vector<int64_t> rows, positions;
  for (int64_t i = 0; i < std::ssize(ids); ++i) {
    const int64_t row = ids[static_cast<size_t>(i)];
    const int32_t slot = slots_.find(row);
    if (slot < 0) {
      if (!file_->has(row) && is_initial(columns, initial, i)) continue;
      rows.push_back(row);
      positions.push_back(i);
      continue;
    }
    for (size_t c = 0; c < columns.size(); ++c)
      std::memcpy(memory_.row(c, slot), row_of(columns[c], i),
                  static_cast<size_t>(layout.sizes[c]));
    const std::lock_guard lock(mutex_);
    slots_.set_changed(slot, true);
  }
  note_written(file_->write(rows, [&](size_t i, std::byte* to) {
    std::memset(to, 0, static_cast<size_t>(file_->record_bytes()));
    for (size_t c = 0; c < columns.size(); ++c)
      std::memcpy(to + layout.offsets[c], row_of(columns[c], positions[i]),
                  static_cast<size_t>(layout.sizes[c]));
  }));
}

bool RecordCache::may_differ(std::span<const int64_t> ids) const {
  return std::any_of(ids.begin(), ids.end(),
                     [this](int64_t row) { return file_->has(row) || slots_.find(row) >= 0; });
}

}  // namespace ramet
