// Threads that each read one request at a time, by pread.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>
#include <vector>

#include "ramet/error.h"
#include "read_slots.h"
#include "read_workers.h"

namespace ramet {
namespace {

constexpr int kMostThreads = 32;  // more wait for a core, not for the disk

class ThreadWorkers final : public ReadWorkers {
 public:
  ThreadWorkers(ReadQueue& queue, const WorkerOptions& options)
      : queue_(queue),
        files_(*options.files),
        slots_(std::min(options.depth, kMostThreads), options.slot_bytes) {
    threads_.reserve(static_cast<size_t>(slots_.count()));
    try {
      for (int64_t slot = 0; slot < slots_.count(); ++slot)
        threads_.emplace_back(&ThreadWorkers::run, this, slots_[slot]);
    } catch (const std::exception&) {  // no more threads: those that there are read
      if (threads_.empty())
        throw_error(ErrorCode::kNoSpace, "the system gives no thread to read rows with");
    }
  }
  ~ThreadWorkers() override {
    for (std::thread& thread : threads_)
      thread.join();
  }

  [[nodiscard]] std::string name() const override { return concat(threads_.size(), " threads"); }

 private:
  void run(std::byte* slot) {
    ReadTask task;
    while (queue_.take({&task, 1}, true) == 1) {
      const ReadRequest& request = task.request();
      int error = 0;
      const int64_t bytes = read(request, slot, error);
      queue_.finish(task, slot, bytes, error);
    }
  }

  // How many bytes it read: at least those that are needed, unless the file ends or `error` is set.
  int64_t read(const ReadRequest& request, std::byte* slot, int& error) const {
    const int fd = files_.files[request.span].get();
    int64_t bytes = 0;
    while (bytes < request.needed && !files_.is_end(bytes)) {
      const ssize_t got = ::pread(fd, slot + bytes, static_cast<size_t>(request.size - bytes),
                                  request.offset + bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) error = errno;
      if (got <= 0) break;
      bytes += got;
    }
    return bytes;
  }

  ReadQueue& queue_;
  const ReadFiles& files_;
  ReadSlots slots_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<ReadWorkers> thread_workers(ReadQueue& queue, const WorkerOptions& options) {
  return std::make_unique<ThreadWorkers>(queue, options);
}

}  // namespace ramet
