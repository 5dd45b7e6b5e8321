// Those who do the requests of a queue: one thread with a ring of io_uring, or several with pread.
//
// Made and destroyed by one thread. The queue is stopped, and empty, when they are destroyed. Each
// throws where the system has no thread or no memory, and then has started none.
#pragma once

#include <memory>
#include <string>

#include "read_files.h"
#include "read_queue.h"

namespace ramet {

class ReadWorkers {
 public:
  ReadWorkers() = default;
  ReadWorkers(const ReadWorkers&) = delete;
  ReadWorkers& operator=(const ReadWorkers&) = delete;
  virtual ~ReadWorkers() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // "io_uring", "32 threads"
};

struct WorkerOptions {
  const ReadFiles* files = nullptr;
  int depth = 1;           // requests at once
  int64_t slot_bytes = 0;  // the largest request
};

// kIo where the kernel refuses, or this build knows no io_uring.
[[nodiscard]] std::unique_ptr<ReadWorkers> ring_workers(ReadQueue& queue,
                                                        const WorkerOptions& options);
[[nodiscard]] std::unique_ptr<ReadWorkers> thread_workers(ReadQueue& queue,
                                                          const WorkerOptions& options);

}  // namespace ramet
