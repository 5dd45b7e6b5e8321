#include "announced_batches.h"

#include <algorithm>
#include <utility>

namespace ramet {
namespace {

constexpr size_t kMostBatches = size_t{1} << 16;  // more than anybody loads ahead
// Calls without an announced batch, one after the other: nobody uses what is announced.
constexpr int kMostOthers = 32;

}  // namespace

void AnnouncedBatches::push(std::vector<int64_t> ids) {
  {
    const std::lock_guard lock(mutex_);
    if (batches_.size() >= kMostBatches) return;
    batches_.push_back(std::make_shared<Batch>(Batch{std::move(ids)}));
  }
  work_.notify_all();
}

std::optional<Holds> AnnouncedBatches::take(std::span<const int64_t> ids) {
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(batches_.begin(), batches_.end(), [&](const auto& batch) {
    return std::ranges::equal(batch->ids, ids);
  });
  if (found == batches_.end()) {
    if (!batches_.empty() && ++others_ == kMostOthers) drop(batches_.size());
    return std::nullopt;
  }
  others_ = 0;
  const std::shared_ptr<Batch> batch = *found;
  drop(static_cast<size_t>(found - batches_.begin()));
  read_.wait(lock, [&] { return batch->phase != Batch::Phase::kBeingRead; });
  std::erase(batches_, batch);
  if (batch->is_gone || batch->phase != Batch::Phase::kRead) return std::nullopt;
  return std::move(batch->holds);
}

void AnnouncedBatches::clear() {
  const std::lock_guard lock(mutex_);
  drop(batches_.size());
}

Holds AnnouncedBatches::take_gone() {
  const std::lock_guard lock(mutex_);
  return std::exchange(gone_, {});
}

// The first so many.
void AnnouncedBatches::drop(size_t count) {
  others_ = 0;
  for (; count > 0; --count, batches_.pop_front()) {
    Batch& batch = *batches_.front();
    batch.is_gone = true;
    gone_.insert(gone_.end(), batch.holds.begin(), batch.holds.end());
    batch.holds.clear();
  }
}

void AnnouncedBatches::tell_room() {
  {
    const std::lock_guard lock(mutex_);
    ++room_;
  }
  work_.notify_all();
}

void AnnouncedBatches::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
}

std::shared_ptr<AnnouncedBatches::Batch> AnnouncedBatches::first_waiting() const {
  const auto found = std::find_if(batches_.begin(), batches_.end(), [](const auto& batch) {
    return batch->phase == Batch::Phase::kWaiting;
  });
  return found == batches_.end() ? nullptr : *found;
}

std::shared_ptr<AnnouncedBatches::Batch> AnnouncedBatches::next() {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Batch> batch;
  work_.wait(lock, [&] {
    if (stopped_) return true;
    batch = room_ == no_room_ ? nullptr : first_waiting();
    return batch != nullptr;
  });
  if (stopped_) return nullptr;
  seen_room_ = room_;
  batch->phase = Batch::Phase::kBeingRead;
  return batch;
}

void AnnouncedBatches::finish(const std::shared_ptr<Batch>& batch, Outcome outcome, Holds holds) {
  {
    const std::lock_guard lock(mutex_);
    using Phase = Batch::Phase;
    batch->phase = outcome == Outcome::kRead     ? Phase::kRead
                   : outcome == Outcome::kNoRoom ? Phase::kWaiting
                                                 : Phase::kFailed;
    if (outcome == Outcome::kNoRoom) no_room_ = seen_room_;
    if (batch->is_gone)
      gone_.insert(gone_.end(), holds.begin(), holds.end());
    else
      batch->holds = std::move(holds);
  }
  read_.notify_all();
}

}  // namespace ramet
