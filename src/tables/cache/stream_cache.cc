#include "stream_cache.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "bypass_cache.h"
#include "look_ahead_cache.h"
#include "ramet/error.h"
#include "recency_cache.h"
#include "static_cache.h"

namespace ramet {
namespace {

constexpr int64_t kCopiesAhead = 16;
constexpr int64_t kGrain = 4096;  // rows

// Copies `count` rows, `bytes` each: from_of(i) to to_of(i), where both are not null.
template <typename From, typename To>
void copy_rows(int64_t count, size_t bytes, int threads, const From& from_of, const To& to_of) {
  parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i + kCopiesAhead < end) __builtin_prefetch(from_of(i + kCopiesAhead));
      const char* const from = from_of(i);
      char* const to = to_of(i);
      if (from != nullptr && to != nullptr) std::memcpy(to, from, bytes);
    }
  });
}

}  // namespace

class StreamCache::Read final : public RowRead {
 public:
  Read(StreamCache& owner, CacheUse use, const ReadContext& context)
      : owner_(owner),
        use_(std::move(use)),
        pool_(context.pool),
        threads_(context.threads),
        read_(owner.source_->submit(borrow(std::span<const int64_t>(use_.missing)), context)) {}
  ~Read() override { owner_.end(number_, std::move(use_), is_complete_); }

  void set_number(int64_t number) { number_ = number; }

  GatheredRows complete() override {
    GatheredRows read = read_->complete();
    const RowForm& form = owner_.source_->form();
    const int64_t count = std::ssize(use_.slots), misses = std::ssize(use_.missing);
    Array out = pool_->allocate_array(form.dtype, form.shape_of(count));
    owner_.wait_for_turn(number_);
    copy_all(static_cast<const char*>(read.rows.data), static_cast<char*>(out.data),
             static_cast<size_t>(form.row_bytes()));
    is_complete_ = true;
    owner_.pass_turn();
    read.cache = {.hits = count - misses, .misses = misses - use_.num_bypassed};
    read.rows = std::move(out);
    return read;
  }

 private:
  // First what is here: a missing row may take its slot.
  void copy_all(const char* read, char* out, size_t bytes) const {
    char* const kept = static_cast<char*>(owner_.rows_.data);
    const auto slot = [&](const std::vector<int32_t>& slots, int64_t i) -> char* {
      const int32_t s = slots[static_cast<size_t>(i)];
      return s < 0 ? nullptr : kept + static_cast<size_t>(s) * bytes;
    };
    const auto row_read = [&](int64_t m) { return read + static_cast<size_t>(m) * bytes; };
    copy_rows(
        std::ssize(use_.slots), bytes, threads_, [&](int64_t i) { return slot(use_.slots, i); },
        [&](int64_t i) { return out + static_cast<size_t>(i) * bytes; });
    copy_rows(std::ssize(use_.missing), bytes, threads_, row_read, [&](int64_t m) {
      return out + static_cast<size_t>(use_.positions[static_cast<size_t>(m)]) * bytes;
    });
    copy_rows(std::ssize(use_.missing), bytes, threads_, row_read,
              [&](int64_t m) { return slot(use_.targets, m); });
  }

  StreamCache& owner_;
  CacheUse use_;
  const std::shared_ptr<BufferPool> pool_;
  const int threads_;
  const std::unique_ptr<RowRead> read_;
  int64_t number_ = -1;
  bool is_complete_ = false;
};

StreamCache::StreamCache(std::shared_ptr<const RowSource> source,
                         std::unique_ptr<CachePolicy> policy)
    : source_(std::move(source)), policy_(std::move(policy)) {
  if (auto local = source_->local_ranges(); !local.empty())
    policy_ = std::make_unique<BypassCache>(std::move(policy_), std::move(local));
  const RowForm& form = source_->form();
  rows_ = BufferPool::create()->allocate_array(form.dtype, form.shape_of(policy_->capacity()));
}

std::unique_ptr<RowRead> StreamCache::begin(const ReadContext& context) {
  std::unique_ptr<Read> read;
  try {
    CacheUse use = take_idle_use();
    policy_->serve(use);
    read = std::make_unique<Read>(*this, std::move(use), context);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    first_failed_ = std::min(first_failed_, begun_);  // the policy counts on these rows
    throw;
  }
  const std::lock_guard lock(mutex_);
  read->set_number(begun_++);
  return read;
}

bool StreamCache::is_intact() const {
  const std::lock_guard lock(mutex_);
  return first_failed_ == kNone && turn_ == begun_;
}

int64_t StreamCache::memory_bytes() const {
  return rows_.bytes() + policy_->memory_bytes();
}

void StreamCache::wait_for_turn(int64_t number) {
  std::unique_lock lock(mutex_);
  turn_passed_.wait(lock, [&] { return turn_ == number || first_failed_ < number; });
  if (turn_ != number)
    throw_error(ErrorCode::kIo, "rows that a batch before this one was to bring failed");
}

void StreamCache::pass_turn() {
  const std::lock_guard lock(mutex_);
  ++turn_;
  turn_passed_.notify_all();
}

void StreamCache::end(int64_t number, CacheUse use, bool is_complete) {
  const std::lock_guard lock(mutex_);
  idle_uses_.push_back(std::move(use));
  if (is_complete) return;
  first_failed_ = std::min(first_failed_, number);
  turn_passed_.notify_all();
}

CacheUse StreamCache::take_idle_use() {
  const std::lock_guard lock(mutex_);
  if (idle_uses_.empty()) {
    idle_uses_.reserve(++num_uses_);  // room to come back to, where no memory may be refused
    return {};
  }
  CacheUse use = std::move(idle_uses_.back());
  idle_uses_.pop_back();
  return use;
}

MakeStreamCache last_rows(std::shared_ptr<const RowSource> source,
                          int64_t num_rows,
                          int64_t capacity) {
  return [source = std::move(source), num_rows, capacity] {
    return std::make_unique<StreamCache>(source,
                                         std::make_unique<RecencyCache>(capacity, num_rows));
  };
}

MakeStreamCache static_rows(std::shared_ptr<const RowSource> source,
                            int64_t num_rows,
                            std::vector<int64_t> held) {
  return [source = std::move(source), num_rows, held = std::move(held)] {
    return std::make_unique<StreamCache>(source, std::make_unique<StaticCache>(held, num_rows));
  };
}

MakeStreamCache next_rows(std::shared_ptr<const RowSource> source,
                          int64_t num_rows,
                          int64_t capacity,
                          int window,
                          std::span<const int64_t> uses) {
  return [source = std::move(source), num_rows, capacity, window, classes = use_classes(uses)] {
    return std::make_unique<StreamCache>(
        source, std::make_unique<LookAheadCache>(capacity, num_rows, window, classes));
  };
}

}  // namespace ramet
