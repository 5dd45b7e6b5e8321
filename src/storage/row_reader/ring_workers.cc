// One thread and a ring of io_uring: requests go to the kernel, and come back, many in a call.
//
// The kernel knows the first part of each slot from the start: else it would look the pages up, and
// hold them, for each request.
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/system/posix.h"
#include "ramet/error.h"
#include "read_slots.h"
#include "read_workers.h"
#include "ring.h"

namespace ramet {
namespace {

// The kernel's, which headers before Linux 6.1 lack: the ring waits to be used by one thread, which
// alone is interrupted for what arrives, and only when it asks.
constexpr unsigned kDisabled = 1u << 6, kSingleIssuer = 1u << 12, kDeferTaskrun = 1u << 13;
constexpr unsigned kReadFlags[] = {kDisabled | kSingleIssuer | kDeferTaskrun, kDisabled};

// Of a slot, what the kernel keeps in memory: enough for rows of usual widths, and little of what
// a process may lock (8 MiB, by default).
constexpr int64_t kKeptBytes = int64_t{16} << 10;

class RingWorkers final : public ReadWorkers {
 public:
  RingWorkers(ReadQueue& queue, const WorkerOptions& options)
      : queue_(queue),
        files_(*options.files),
        slots_(options.depth, options.slot_bytes),
        reads_(static_cast<size_t>(options.depth)),
        taken_(static_cast<size_t>(options.depth)),
        ring_(static_cast<unsigned>(options.depth), kReadFlags, IORING_OP_READ) {
    if (ring_.error() != 0) throw_errno(ring_.error(), "make", "an io_uring");
    register_slots();
    for (int64_t slot = slots_.count(); slot-- > 0;)
      free_.push_back(slot);
    try {
      thread_ = std::thread(&RingWorkers::run, this);
    } catch (const std::exception&) {
      throw_error(ErrorCode::kNoSpace, "the system gives no thread to read rows with");
    }
  }
  ~RingWorkers() override { thread_.join(); }

  [[nodiscard]] std::string name() const override { return "io_uring"; }

 private:
  struct UnderWay {
    ReadTask task;
    int64_t bytes = 0;  // that are there
  };

  // Not needed: where the kernel refuses, it looks memory up by request.
  void register_slots() {
    std::vector<iovec> parts;
    const int64_t bytes = std::min(kKeptBytes, slots_.stride());
    for (int64_t slot = 0; slot < slots_.count(); ++slot)
      parts.push_back({slots_[slot], static_cast<size_t>(bytes)});
    if (io_uring_register_buffers(ring_.get(), parts.data(), static_cast<unsigned>(parts.size())) ==
        0)
      known_bytes_ = bytes;
  }

  void run() {
    broken_ = -io_uring_enable_rings(ring_.get());
    for (;;) {
      const size_t taken = queue_.take({taken_.data(), free_.size()}, under_way() == 0);
      if (taken == 0 && under_way() == 0) return;
      for (size_t i = 0; i < taken; ++i)
        begin(taken_[i]);
      if (broken_ == 0) broken_ = ring_.submit_and_wait(under_way());
      if (broken_ == 0) reap();
      if (broken_ != 0) give_up();
    }
  }

  [[nodiscard]] size_t under_way() const { return reads_.size() - free_.size(); }

  void begin(const ReadTask& task) {
    const int64_t slot = free_.back();
    free_.pop_back();
    reads_[static_cast<size_t>(slot)] = {task, 0};
    if (broken_ == 0) prepare(slot);
  }

  // Asks for what is not there of the request of a slot. There is an entry per slot.
  void prepare(int64_t slot) {
    const UnderWay& read = reads_[static_cast<size_t>(slot)];
    const ReadRequest& request = read.task.request();
    io_uring_sqe* const entry = io_uring_get_sqe(ring_.get());
    const int file = files_.files[request.span].get();
    std::byte* const to = slots_[slot] + read.bytes;
    const auto bytes = static_cast<unsigned>(request.size - read.bytes);
    const auto offset = static_cast<uint64_t>(request.offset + read.bytes);
    if (request.size <= known_bytes_)
      io_uring_prep_read_fixed(entry, file, to, bytes, offset, static_cast<int>(slot));
    else
      io_uring_prep_read(entry, file, to, bytes, offset);
    entry->user_data = static_cast<uint64_t>(slot);
  }

  void reap() {
    unsigned head = 0, seen = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(ring_.get(), head, entry) {
      ++seen;
      arrive(static_cast<int64_t>(entry->user_data), entry->res);
    }
    io_uring_cq_advance(ring_.get(), seen);
  }

  void arrive(int64_t slot, int result) {
    UnderWay& read = reads_[static_cast<size_t>(slot)];
    if (result > 0) read.bytes += result;
    const bool interrupted = result == -EINTR || result == -EAGAIN;
    const bool is_part = result > 0 && read.bytes < read.task.request().needed;
    if (interrupted || (is_part && !files_.is_end(read.bytes))) return prepare(slot);
    finish(slot, result < 0 ? -result : 0);
  }

  void finish(int64_t slot, int error) {
    const UnderWay& read = reads_[static_cast<size_t>(slot)];
    queue_.finish(read.task, slots_[slot], read.bytes, error);
    reads_[static_cast<size_t>(slot)].task = {};
    free_.push_back(slot);
  }

  // The ring does not work: whatever is asked for fails, as everything after it.
  void give_up() {
    for (int64_t slot = 0; slot < slots_.count(); ++slot)
      if (reads_[static_cast<size_t>(slot)].task.batch != nullptr) finish(slot, broken_);
  }

  ReadQueue& queue_;
  const ReadFiles& files_;
  ReadSlots slots_;
  std::vector<UnderWay> reads_;  // by slot
  std::vector<ReadTask> taken_;
  std::vector<int64_t> free_;  // slots
  Ring ring_;                  // of the thread; closed before the slots are gone
  int64_t known_bytes_ = 0;    // of each slot, from its begin
  int broken_ = 0;             // errno
  std::thread thread_;
};

}  // namespace

std::string io_uring_problem() {
  const Ring ring(1, kReadFlags, IORING_OP_READ);
  return ring.error() == 0 ? "" : std::generic_category().message(ring.error());
}

std::unique_ptr<ReadWorkers> ring_workers(ReadQueue& queue, const WorkerOptions& options) {
  return std::make_unique<RingWorkers>(queue, options);
}

}  // namespace ramet
