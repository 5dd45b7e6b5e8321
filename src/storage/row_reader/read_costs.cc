#include "read_costs.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "base/system/space.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr double kWindowSeconds = 5e-3;  // several times what is under way takes
constexpr int kWindows = 2;
constexpr size_t kAhead = 4;    // batches that the queue has
constexpr size_t kSmalls = 48;  // blocks in a batch: more than the usual depth are ahead
constexpr size_t kLarges = 2;   // the largest requests in one: few saturate a disk
constexpr int64_t kSmallFile = int64_t{4} << 20;

// The rows of a file, and which it is.
struct Region {
  size_t span = 0;
  int64_t begin = 0, end = 0;
};

// Requests of one size at random offsets. The queue always has some: else the latency of the first
// ones, and of the last ones, which are alone, would be charged to all.
class RandomReads {
 public:
  RandomReads(ReadQueue& queue, const Region& region, int64_t size, size_t per_batch)
      : queue_(queue), region_(region), size_(size), per_batch_(per_batch) {}
  RandomReads(const RandomReads&) = delete;
  RandomReads& operator=(const RandomReads&) = delete;
  ~RandomReads() {
    for (ReadBatch& batch : batches_)
      queue_.wait(batch, true);
  }

  // The seconds of a request: the least of the windows, since others on the disk and on the cores
  // only slow it down. 0 where one fails.
  [[nodiscard]] double seconds() {
    for (size_t i = 0; i < kAhead; ++i)
      push();
    for (size_t i = 0; i < kAhead; ++i)  // then the disk is as busy as it gets
      if (!advance()) return 0;
    double least = seconds_in_window();
    for (int window = 1; window < kWindows; ++window)
      least = std::min(least, seconds_in_window());
    return least;
  }

 private:
  double seconds_in_window() {
    const auto begin = std::chrono::steady_clock::now();
    const size_t before = finished();
    while (advance()) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      const size_t count = finished() - before;
      if (elapsed.count() >= kWindowSeconds && count >= per_batch_)
        return elapsed.count() / static_cast<double>(count);
    }
    return 0;
  }

  // Requests so far. Those of batches that were not waited for count, too: this thread may be late.
  [[nodiscard]] size_t finished() const {
    size_t requests = pushed_;
    for (const ReadBatch& batch : batches_)
      requests -= batch.unfinished.load();
    return requests;
  }

  // Waits for the oldest batch, and pushes another. False where a request failed.
  bool advance() {
    queue_.wait(batches_.front(), false);
    if (batches_.front().failed.load()) return false;
    batches_.pop_front();
    push();
    return true;
  }

  void push() {
    const auto offsets = static_cast<uint64_t>((region_.end - region_.begin) / size_);
    ReadBatch& batch = batches_.emplace_back();
    for (size_t i = 0; i < per_batch_; ++i) {
      const auto drawn = static_cast<int64_t>(mix64(++draw_) % offsets);
      const int64_t offset = (region_.begin / size_ + drawn) * size_;
      batch.plan.requests.push_back({region_.span, offset, size_, size_, 0, 0});
    }
    pushed_ += per_batch_;
    queue_.push(batch);
  }

  ReadQueue& queue_;
  const Region region_;
  const int64_t size_;
  const size_t per_batch_;
  uint64_t draw_ = random_bits();  // not what the page cache has from the last time
  size_t pushed_ = 0;              // requests
  std::deque<ReadBatch> batches_;
};

// Why the rate of reading `path` is not its disk's, or "".
std::string problem_of(const std::string& path, const ReadFiles& files) {
  if (is_in_memory(path)) return concat(path, " lies in memory");
  if (!files.direct)
    return concat(path,
                  " is read through the page cache, which may hold it: that is no disk's rate");
  return "";
}

}  // namespace

ReadCosts measure_read_costs(ReadQueue& queue,
                             std::span<const RowSpan> spans,
                             int64_t row_bytes,
                             const ReadFiles& files,
                             int64_t most_bytes) {
  const auto largest =
      std::max_element(spans.begin(), spans.end(),
                       [](const RowSpan& a, const RowSpan& b) { return a.num_rows < b.num_rows; });
  if (largest == spans.end() || largest->num_rows * row_bytes < kSmallFile)
    return {.problem = concat("no file has ", kSmallFile >> 20, " MiB of rows to measure it with")};
  const Region region{static_cast<size_t>(largest - spans.begin()), largest->offset,
                      largest->offset + largest->num_rows * row_bytes};
  const int64_t small = files.block > 1 ? files.block : 512;
  const int64_t large = most_bytes / small * small;
  const double of_small = RandomReads(queue, region, small, kSmalls).seconds();
  const double of_large = RandomReads(queue, region, large, kLarges).seconds();
  if (of_small <= 0 || of_large <= 0) return {.problem = concat("cannot read ", largest->path)};
  ReadCosts costs{.problem = problem_of(largest->path, files)};
  costs.byte_seconds =
      std::max(of_large - of_small, of_large / 100) / static_cast<double>(large - small);
  costs.request_seconds =
      std::max(of_small - costs.byte_seconds * static_cast<double>(small), of_small / 100);
  return costs;
}

}  // namespace ramet
