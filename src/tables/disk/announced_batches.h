// AnnouncedBatches: the ids of batches to come, from who announces them, to a thread that reads
// them ahead, to who uses them. Thread-safe.
//
// A batch is used in its turn, or was skipped: the first batch of the same ids is meant, and those
// before it do not come any more. Other ids leave all as they are.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "record_cache.h"

namespace ramet {

class AnnouncedBatches {
 public:
  struct Batch {
    std::vector<int64_t> ids;
    enum class Phase : uint8_t { kWaiting, kBeingRead, kRead, kFailed } phase = Phase::kWaiting;
    bool is_gone = false;  // while it is being read
    Holds holds = {};      // once it is read
  };

  void push(std::vector<int64_t> ids);
  // Takes the batch of these ids away, and those before it. Its holds, if it is read ahead. Waits
  // while it is being read. After 32 calls for other ids in a row it takes all away.
  [[nodiscard]] std::optional<Holds> take(std::span<const int64_t> ids);
  // Takes all away.
  void clear();
  // The holds of batches that went unused, for the caller to release.
  [[nodiscard]] Holds take_gone();
  // Records may leave memory that could not before.
  void tell_room();
  void stop();

  // ---- the thread that reads ahead
  // The next batch to read, once there may be room for it; nullptr when stopped.
  [[nodiscard]] std::shared_ptr<Batch> next();
  enum class Outcome : uint8_t { kRead, kNoRoom, kFailed };
  void finish(const std::shared_ptr<Batch>& batch, Outcome outcome, Holds holds);

 private:
  [[nodiscard]] std::shared_ptr<Batch> first_waiting() const;
  void drop(size_t count);

  std::mutex mutex_;
  std::condition_variable work_, read_;
  std::deque<std::shared_ptr<Batch>> batches_;
  Holds gone_;
  uint64_t room_ = 1, no_room_ = 0;  // how often there was news; which of them found no room
  uint64_t seen_room_ = 0;           // by the reader
  int others_ = 0;                   // batches since the last one that was announced
  bool stopped_ = false;
};

}  // namespace ramet
