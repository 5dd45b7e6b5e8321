// In place of ring_workers.cc where there is no liburing to build with.
#include "ramet/error.h"
#include "read_workers.h"

namespace ramet {

std::string io_uring_problem() {
  return "this build has no liburing";
}

std::unique_ptr<ReadWorkers> ring_workers(ReadQueue&, const WorkerOptions&) {
  throw_error(ErrorCode::kIo, "cannot make an io_uring: ", io_uring_problem());
}

}  // namespace ramet
