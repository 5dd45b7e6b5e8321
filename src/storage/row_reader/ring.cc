#include "ring.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

namespace ramet {
namespace {

constexpr int kMostRefusals = 500;  // a moment each

}  // namespace

Ring::Ring(unsigned entries, std::span<const unsigned> flags, int operation) {
  error_ = EINVAL;
  for (size_t i = 0; i < flags.size() && error_ == EINVAL; ++i)
    error_ = make(entries, flags[i]);
  is_made_ = error_ == 0;
  if (is_made_ && !knows(operation)) error_ = EOPNOTSUPP;
}

Ring::~Ring() {
  if (is_made_) io_uring_queue_exit(&ring_);
}

int Ring::make(unsigned entries, unsigned flags) {
  io_uring_params params{};
  params.flags = flags;
  return -io_uring_queue_init_params(entries, &ring_, &params);
}

// A kernel that cannot be asked is older than Linux 5.6, as are those that cannot READ and WRITE.
bool Ring::knows(int operation) {
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
  if (probe == nullptr) return false;
  const bool is_known = io_uring_opcode_supported(probe, operation) != 0;
  io_uring_free_probe(probe);
  return is_known;
}

// Not for one request alone: each call costs about as much as a request.
int Ring::submit_and_wait(size_t under_way) {
  const auto wanted = static_cast<unsigned>(std::max<size_t>(under_way / 4, 1));
  const int result = io_uring_submit_and_wait(&ring_, wanted);
  if (result >= 0) refusals_ = 0;
  if (result >= 0 || result == -EINTR) return 0;
  const bool is_short = result == -EAGAIN || result == -EBUSY || result == -ENOMEM;
  const bool may_change = under_way > unsubmitted() || ++refusals_ < kMostRefusals;
  if (!is_short || !may_change) return -result;
  wait_a_moment();
  return 0;
}

void wait_a_moment() {
  const timespec moment{0, 1'000'000};
  ::nanosleep(&moment, nullptr);
}

}  // namespace ramet
