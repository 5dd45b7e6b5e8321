// In place of ring.cc, ring_workers.cc and write_ring.cc where there is no liburing to build with.
#include "ramet/error.h"
#include "read_workers.h"
#include "write_ring.h"

namespace ramet {

std::string io_uring_problem() {
  return "this build has no liburing";
}

std::unique_ptr<ReadWorkers> ring_workers(ReadQueue&, const WorkerOptions&) {
  throw_error(ErrorCode::kIo, "cannot make an io_uring: ", io_uring_problem());
}

std::unique_ptr<WriteRing> make_write_ring(int64_t) {
  return nullptr;
}

}  // namespace ramet
