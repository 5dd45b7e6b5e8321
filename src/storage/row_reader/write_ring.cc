#include "write_ring.h"

#include <liburing.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "ramet/error.h"
#include "read_slots.h"

namespace ramet {
namespace {

constexpr int64_t kMostWrites = 64;                 // under way
constexpr int64_t kMostMemory = int64_t{16} << 20;  // of their buffers

class Ring final : public WriteRing {
 public:
  explicit Ring(int64_t most_bytes)
      : buffers_(
            std::clamp<int64_t>(kMostMemory / std::max<int64_t>(most_bytes, 1), 1, kMostWrites),
            most_bytes),
        under_way_(static_cast<size_t>(buffers_.count())),
        error_(-io_uring_queue_init(static_cast<unsigned>(buffers_.count()), &ring_, 0)) {}
  ~Ring() override {
    if (error_ == 0) io_uring_queue_exit(&ring_);
  }

  [[nodiscard]] bool works() const { return error_ == 0; }

  Failure write(int file,
                size_t count,
                const std::function<RingWrite(size_t, std::byte*)>& prepare) override {
    file_ = file;
    failure_ = {};
    free_.clear();
    for (int64_t slot = buffers_.count(); slot-- > 0;)
      free_.push_back(slot);
    for (size_t next = 0; next < count || in_kernel() > 0;) {
      for (; next < count && !free_.empty() && failure_.error == 0; ++next)
        begin(next, prepare);
      if (in_kernel() == 0) break;  // one has failed
      submit_and_wait();
      reap();
    }
    return failure_;
  }

 private:
  struct UnderWay {
    size_t write = 0;
    RingWrite bytes;
    int64_t done = 0;
  };

  [[nodiscard]] size_t in_kernel() const { return under_way_.size() - free_.size(); }

  void begin(size_t i, const std::function<RingWrite(size_t, std::byte*)>& prepare) {
    const int64_t slot = free_.back();
    under_way_[static_cast<size_t>(slot)] = {i, prepare(i, buffers_[slot]), 0};
    free_.pop_back();
    ask(slot);
  }

  // For what is not written of a slot. There is an entry per slot.
  void ask(int64_t slot) {
    const UnderWay& write = under_way_[static_cast<size_t>(slot)];
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    io_uring_prep_write(entry, file_, buffers_[slot] + write.done,
                        static_cast<unsigned>(write.bytes.size - write.done),
                        static_cast<uint64_t>(write.bytes.offset + write.done));
    entry->user_data = static_cast<uint64_t>(slot);
  }

  // Until what was asked is with the kernel, which alone may use the buffers then.
  void submit_and_wait() {
    const auto wanted = static_cast<unsigned>(std::max<size_t>(in_kernel() / 4, 1));
    const int result = io_uring_submit_and_wait(&ring_, wanted);
    if (result >= 0 || result == -EINTR) return;
    const timespec moment{0, 1'000'000};  // short of memory: again
    ::nanosleep(&moment, nullptr);
  }

  void reap() {
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring_, &entry) == 0) {
      const auto slot = static_cast<int64_t>(entry->user_data);
      const int result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      arrive(slot, result);
    }
  }

  void arrive(int64_t slot, int result) {
    UnderWay& write = under_way_[static_cast<size_t>(slot)];
    if (result > 0) write.done += result;
    const bool again = result == -EINTR || result == -EAGAIN;
    if (again || (result > 0 && write.done < write.bytes.size)) return ask(slot);
    if (result <= 0 && (failure_.error == 0 || write.write < failure_.write))
      failure_ = {write.write, result == 0 ? ENOSPC : -result};
    free_.push_back(slot);
  }

  ReadSlots buffers_;
  std::vector<UnderWay> under_way_;
  std::vector<int64_t> free_;
  io_uring ring_{};
  int error_;
  int file_ = -1;
  Failure failure_;
};

}  // namespace

std::unique_ptr<WriteRing> make_write_ring(int64_t most_bytes) {
  auto ring = std::make_unique<Ring>(most_bytes);
  return ring->works() ? std::move(ring) : nullptr;
}

}  // namespace ramet
