#include "row_writer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "ramet/error.h"
#include "row_reader/read_slots.h"

namespace ramet {
namespace {

constexpr size_t kMostThreads = 32;                 // more wait for a core, not for the disk
constexpr size_t kFewRuns = 4;                      // not worth a thread
constexpr int64_t kMostBytes = int64_t{256} << 10;  // of a request: larger ones are not faster

// Rows [first, end) of those given lie side by side in the file.
struct Run {
  size_t first, end;
};

int64_t most_rows(int64_t row_bytes) {
  return std::max<int64_t>(kMostBytes / row_bytes, 1);
}

std::vector<Run> runs_of(std::span<const int64_t> numbers, int64_t most) {
  std::vector<Run> runs;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const bool extends = i > 0 && numbers[i] == numbers[i - 1] + 1 &&
                         static_cast<int64_t>(i - runs.back().first) < most;
    if (!extends) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

using Failure = WriteRing::Failure;

class Writing {
 public:
  Writing(int file, int64_t row_bytes, std::span<const int64_t> numbers, const PackRow& pack)
      : file_(file),
        row_bytes_(row_bytes),
        numbers_(numbers),
        pack_(pack),
        runs_(runs_of(numbers, most_rows(row_bytes))) {}

  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

  Failure by_ring(WriteRing& ring) {
    return ring.write(file_, runs_.size(),
                      [this](size_t run, std::byte* buffer) { return packed(runs_[run], buffer); });
  }

  Failure by_threads() {
    const size_t wanted = runs_.size() <= kFewRuns ? 1 : std::min(runs_.size(), kMostThreads);
    const ReadSlots buffers(static_cast<int64_t>(wanted), most_rows(row_bytes_) * row_bytes_);
    std::vector<std::thread> threads;
    try {
      for (size_t i = 1; i < wanted; ++i)
        threads.emplace_back([this, &buffers, i] { work(buffers[static_cast<int64_t>(i)]); });
    } catch (const std::exception&) {  // no more threads: those that there are write
    }
    work(buffers[0]);
    for (std::thread& thread : threads)
      thread.join();
    return failure_;
  }

 private:
  void work(std::byte* buffer) {
    for (size_t run; (run = next_.fetch_add(1)) < runs_.size() && !failed_.load();) {
      const int error = write(runs_[run], buffer);
      if (error != 0) note(run, error);
    }
  }

  [[nodiscard]] RingWrite packed(const Run& run, std::byte* buffer) const {
    for (size_t i = run.first; i < run.end; ++i)
      pack_(i, buffer + static_cast<int64_t>(i - run.first) * row_bytes_);
    return {.offset = numbers_[run.first] * row_bytes_,
            .size = static_cast<int64_t>(run.end - run.first) * row_bytes_};
  }

  // An errno, or 0.
  [[nodiscard]] int write(const Run& run, std::byte* buffer) const {
    const auto [offset, size] = packed(run, buffer);
    for (int64_t done = 0; done < size;) {
      const ssize_t wrote =
          ::pwrite(file_, buffer + done, static_cast<size_t>(size - done), offset + done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return errno;
      if (wrote == 0) return ENOSPC;
      done += wrote;
    }
    return 0;
  }

  void note(size_t run, int error) {
    const std::lock_guard lock(mutex_);
    failed_.store(true);
    if (failure_.error == 0 || run < failure_.write) failure_ = {run, error};
  }

  int file_;
  int64_t row_bytes_;
  std::span<const int64_t> numbers_;
  const PackRow& pack_;
  std::vector<Run> runs_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  Failure failure_;
};

}  // namespace

RowWriter::RowWriter(Fd file, int64_t row_bytes, std::string location, bool io_uring)
    : file_(std::move(file)), row_bytes_(row_bytes), location_(std::move(location)) {
  if (io_uring && row_bytes > 0) ring_ = make_write_ring(most_rows(row_bytes) * row_bytes);
}

ReadCounts RowWriter::write(std::span<const int64_t> numbers, const PackRow& pack) {
  if (numbers.empty() || row_bytes_ == 0) return {};
  Writing writing(file_.get(), row_bytes_, numbers, pack);
  const bool by_ring = ring_ != nullptr && writing.runs().size() > kFewRuns;
  const Failure failure = by_ring ? writing.by_ring(*ring_) : writing.by_threads();
  if (by_ring && !ring_->works()) ring_.reset();
  const auto rows = std::ssize(numbers);
  if (failure.error != 0) {
    const Run& run = writing.runs()[failure.write];
    throw_errno(failure.error,
                concat("write ", static_cast<int64_t>(run.end - run.first) * row_bytes_,
                       " bytes at byte ", numbers[run.first] * row_bytes_, " of"),
                location_);
  }
  return {.rows = rows, .requests = std::ssize(writing.runs()), .bytes = rows * row_bytes_};
}

}  // namespace ramet
