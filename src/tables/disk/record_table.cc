#include "ramet/record_table.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "announced_batches.h"
#include "ramet/error.h"
#include "ramet/node_rows.h"
#include "ramet/part.h"
#include "ramet/table.h"
#include "record_cache.h"

namespace ramet {
namespace {

constexpr int64_t kCopyBytes = int64_t{16} << 20;

void check_weights(const RecordColumn& weights) {
  const bool can_learn = weights.dtype == DType::kFloat32 || weights.dtype == DType::kFloat16 ||
                         weights.dtype == DType::kBFloat16;
  if (!can_learn)
    throw_invalid("records of ", name(weights.dtype), ", expected float32, float16 or bfloat16");
}

// Which rows have records, and their numbers among them.
NodeRows owned_rows(int64_t num_rows, const RecordTableOptions& options) {
  if (!options.owners) return NodeRows::all(num_rows);
  const Ownership& owners = *options.owners;
  if (owners.num_nodes() != num_rows)
    throw_invalid("owners of ", owners.num_nodes(), " rows for an embedding of ", num_rows);
  if (owners.parts() == 1) return NodeRows::all(num_rows);
  if (owners.is_ranges()) {
    const auto [begin, end] = owners.span_of(options.rank);
    return NodeRows::range(begin, end, {});
  }
  OwnedBitmap bitmap = owned_bitmap(owners, options.rank);
  return NodeRows::bitmap(std::move(bitmap.lines), num_rows, bitmap.count, {});
}

// Copies the first column of rows that may have changed.
void copy_weights(const NodeRows& owned, RecordCache& from, RecordCache& to) {
  const int64_t step = kCopyBytes / std::max<int64_t>(to.memory().layout().bytes, 1) + 1;
  for (int64_t begin = 0; begin < owned.num_rows(); begin += step) {
    const Array rows = owned.nodes(begin, std::min(begin + step, owned.num_rows()));
    const auto ids = rows.as<int64_t>();
    if (!from.may_differ(ids)) continue;
    std::vector<Array> columns = to.read(ids, 0);
    columns.front() = from.read(ids, 0).front();
    to.write(ids, columns);
  }
}

}  // namespace

class RecordTable::State {
 public:
  State(int64_t num_rows, RecordColumn weights, RecordTableOptions options)
      : process_(::getpid()),
        options_(std::move(options)),
        num_rows_(num_rows),
        owned_(owned_rows(num_rows, options_)) {
    check_weights(weights);
    if (num_rows < 0 || owned_.num_rows() > RecordFile::kMostRows)
      throw_invalid("records of ", owned_.num_rows(), " rows, expected 0 to ",
                    RecordFile::kMostRows);
    cache_ =
        std::make_unique<RecordCache>(num_rows, owned_, std::vector{std::move(weights)}, options_);
  }
  ~State() {
    batches_.stop();
    if (thread_.joinable()) thread_.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] bool is_of_this_process() const { return process_ == ::getpid(); }
  [[nodiscard]] int64_t num_rows() const { return num_rows_; }
  [[nodiscard]] const NodeRows& owned() const { return owned_; }
  [[nodiscard]] const RecordTableOptions& options() const { return options_; }
  [[nodiscard]] std::atomic<int64_t>& last_step() { return last_step_; }
  [[nodiscard]] RecordCounts counts() {
    const std::lock_guard call(call_mutex_);
    RecordCounts counts = before_;
    return counts += cache_->counts();
  }
  // What body says of the cache.
  template <typename Body>
  auto ask(const Body& body) {
    const std::lock_guard call(call_mutex_);
    return body(*cache_);
  }

  void set_state(std::vector<RecordColumn> columns) {
    const std::lock_guard call(call_mutex_);
    const std::lock_guard reading(read_ahead_mutex_);
    if (columns.empty() && cache_->memory().columns().size() == 1) return;
    columns.insert(columns.begin(), cache_->memory().columns().front());
    batches_.clear();
    release_gone();
    cache_->release(current_);
    auto next = std::make_unique<RecordCache>(num_rows_, owned_, std::move(columns), options_,
                                              cache_.get());
    copy_weights(owned_, *cache_, *next);
    before_ += cache_->counts();
    cache_ = std::move(next);
  }

  Array gather(std::span<const int64_t> ids, int threads) {
    const std::lock_guard call(call_mutex_);
    check_ids(ids);
    std::optional<Holds> ahead = batches_.take(ids);
    release_gone();
    cache_->release(current_);
    if (ahead) {
      current_ = std::move(*ahead);
      cache_->count_ahead();
    } else {
      hold(ids, threads, current_);
    }
    batches_.tell_room();
    const std::vector<int64_t> slots = cache_->slots_of(ids);
    return Table(cache_->memory().column(0, cache_->num_slots())).gather(slots, threads);
  }

  void update(std::span<const std::span<const int64_t>> lists,
              const std::function<void(const HeldRecords&)>& body) {
    const std::lock_guard call(call_mutex_);
    std::vector<int64_t> ids;
    for (const auto list : lists) {
      check_ids(list);
      ids.insert(ids.end(), list.begin(), list.end());
    }
    Holds held;
    if (!cache_->hold_found(ids, held)) static_cast<void>(cache_->bring_in(ids, false, 0, held));
    cache_->release(current_);
    try {
      const HeldRecords records = records_of(lists);
      cache_->set_changed(held);
      body(records);
    } catch (...) {
      cache_->release(held);
      throw;
    }
    cache_->release(held);
    batches_.tell_room();
  }

  std::vector<Array> read(std::span<const int64_t> ids, int threads) {
    const std::lock_guard call(call_mutex_);
    check_ids(ids);
    return cache_->read(ids, threads);
  }

  void write(std::span<const int64_t> ids, std::span<const Array> columns) {
    const std::lock_guard call(call_mutex_);
    check_ids(ids);
    if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) != ids.end())
      throw_invalid("ids of columns to write do not ascend");
    check_columns(std::ssize(ids), columns);
    cache_->write(ids, columns);
  }

  void announce(const Array& ids) {
    if (ids.dtype != DType::kInt64) throw_invalid("ids are ", ids.describe(), ", expected int64");
    const auto values = ids.as<int64_t>();
    check_ids(values);
    batches_.push({values.begin(), values.end()});
    std::call_once(started_, [this] { start(); });
  }

  void forget() {
    batches_.clear();
    batches_.tell_room();
  }

 private:
  void hold(std::span<const int64_t> ids, int threads, Holds& holds) {
    const auto count = std::ssize(ids);
    int64_t found = count;
    if (!cache_->hold_found(ids, holds)) found = *cache_->bring_in(ids, false, threads, holds);
    cache_->count_use(found, count - found);
  }

  void release_gone() {
    Holds gone = batches_.take_gone();
    cache_->release(gone);
  }

  [[nodiscard]] HeldRecords records_of(std::span<const std::span<const int64_t>> lists) const {
    const RecordMemory& memory = cache_->memory();
    const int64_t slots = cache_->num_slots();
    HeldRecords records;
    for (size_t c = 0; c < memory.columns().size(); ++c)
      records.columns.push_back(memory.column(c, slots));
    for (const auto ids : lists)
      records.slots.push_back(cache_->slots_of(ids));
    records.row_ids = borrow(std::span(cache_->rows_of_slots(), static_cast<size_t>(slots)));
    return records;
  }

  void check_ids(std::span<const int64_t> ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= num_rows_)
        throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", ids[i], " is outside the ",
                    num_rows_, " rows of the embedding");
      if (owned_.row(ids[i]) < 0)
        throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", ids[i],
                    " is a row of another rank, not of rank ", options_.rank);
    }
  }

  void check_columns(int64_t rows, std::span<const Array> columns) const {
    const auto& expected = cache_->memory().columns();
    if (columns.size() != expected.size())
      throw_invalid(columns.size(), " columns of records, expected ", expected.size());
    for (size_t c = 0; c < columns.size(); ++c) {
      std::vector<int64_t> shape{rows};
      shape.insert(shape.end(), expected[c].shape.begin(), expected[c].shape.end());
      if (columns[c].dtype != expected[c].dtype || columns[c].shape != shape)
        throw_invalid("column ", c, " is ", columns[c].describe(), ", expected ",
                      Array{nullptr, expected[c].dtype, shape, nullptr}.describe());
    }
  }

  // Announced batches are advice: without a thread they are read when they are used.
  void start() {
    try {
      thread_ = std::thread(&State::read_ahead, this);
    } catch (const std::exception&) {
    }
  }

  void read_ahead() {
    using Outcome = AnnouncedBatches::Outcome;
    while (const auto batch = batches_.next()) {
      const std::lock_guard reading(read_ahead_mutex_);
      release_gone();
      Holds holds;
      Outcome outcome = Outcome::kFailed;  // whoever uses the batch meets the error again
      try {
        const auto found = cache_->bring_in(batch->ids, true, 1, holds);
        outcome = found ? Outcome::kRead : Outcome::kNoRoom;
        if (found) cache_->count_use(*found, std::ssize(batch->ids) - *found);
      } catch (const std::exception&) {
      }
      batches_.finish(batch, outcome, std::move(holds));
    }
  }

  pid_t process_;
  RecordTableOptions options_;
  int64_t num_rows_;
  NodeRows owned_;
  std::atomic<int64_t> last_step_ = 0;
  std::mutex call_mutex_;               // of calls that use records; comes first
  std::mutex read_ahead_mutex_;         // of the thread that reads ahead
  std::unique_ptr<RecordCache> cache_;  // of either; who changes the pointer has both
  RecordCounts before_;                 // of caches before this one
  Holds current_;                       // of the batch that was gathered last
  AnnouncedBatches batches_;
  std::once_flag started_;
  std::thread thread_;
};

RecordTable::RecordTable(int64_t num_rows, RecordColumn weights, RecordTableOptions options)
    : state_(std::make_unique<State>(num_rows, std::move(weights), std::move(options))) {}

RecordTable::~RecordTable() {
  // A child has neither the threads nor the memory: what it has of them is left as it is.
  if (!state_->is_of_this_process()) static_cast<void>(state_.release());
}

RecordTable::State& RecordTable::state() const {
  if (!state_->is_of_this_process())
    throw_invalid(
        "an embedding on a disk is used by the process that made it alone, and this is its fork");
  return *state_;
}

int64_t RecordTable::num_rows() const {
  return state_->num_rows();
}

int64_t RecordTable::num_owned() const {
  return state_->owned().num_rows();
}

Array RecordTable::owned(int64_t begin, int64_t end) const {
  const int64_t count = num_owned();
  if (begin < 0 || begin > end || end > count)
    throw_invalid("rows [", begin, ", ", end, ") of the ", count, " that the rank owns");
  return state_->owned().nodes(begin, end);
}

int64_t RecordTable::cache_rows() const {
  return state_->options().cache_rows;
}

std::vector<RecordColumn> RecordTable::columns() const {
  return state().ask([](RecordCache& cache) { return cache.memory().columns(); });
}

int64_t RecordTable::record_bytes() const {
  return state().ask([](RecordCache& cache) { return cache.file().record_bytes(); });
}

std::string RecordTable::how() const {
  return state().ask([](RecordCache& cache) { return cache.file().how(); });
}

RecordCounts RecordTable::counts() const {
  return state().counts();
}

int64_t RecordTable::memory_bytes() const {
  return state().ask([](RecordCache& cache) { return cache.memory_bytes(); });
}

int64_t RecordTable::file_bytes() const {
  return state().ask([](RecordCache& cache) { return cache.file_bytes(); });
}

void RecordTable::set_state(std::vector<RecordColumn> state_columns) {
  state().set_state(std::move(state_columns));
}

Array RecordTable::gather(std::span<const int64_t> ids, int threads) {
  return state().gather(ids, threads);
}

void RecordTable::update(std::span<const std::span<const int64_t>> lists,
                         const std::function<void(const HeldRecords&)>& body) {
  state().update(lists, body);
}

int64_t RecordTable::last_step() const {
  return state().last_step();
}

void RecordTable::set_last_step(int64_t number) {
  state().last_step() = number;
}

std::vector<Array> RecordTable::read(std::span<const int64_t> ids, int threads) {
  return state().read(ids, threads);
}

void RecordTable::write(std::span<const int64_t> ids, std::span<const Array> columns) {
  state().write(ids, columns);
}

void RecordTable::announce(const Array& ids) {
  state().announce(ids);
}

void RecordTable::forget() {
  if (state_->is_of_this_process()) state_->forget();  // else there is nothing to read
}

RecordCounts& RecordCounts::operator+=(const RecordCounts& other) {
  hits += other.hits;
  misses += other.misses;
  read_ahead += other.read_ahead;
  read += other.read;
  written += other.written;
  return *this;
}

}  // namespace ramet
