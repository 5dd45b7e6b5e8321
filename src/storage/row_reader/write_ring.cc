#include "write_ring.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "read_slots.h"
#include "ring.h"

namespace ramet {
namespace {

constexpr int64_t kMostWrites = 64;                   // under way
constexpr int64_t kMostBuffered = int64_t{16} << 20;  // of their buffers

constexpr unsigned kWriteFlags[] = {0};

class RingOfWrites final : public WriteRing {
 public:
  explicit RingOfWrites(int64_t most_bytes)
      : buffers_(
            std::clamp<int64_t>(kMostBuffered / std::max<int64_t>(most_bytes, 1), 1, kMostWrites),
            most_bytes),
        writes_(static_cast<size_t>(buffers_.count())),
        ring_(static_cast<unsigned>(buffers_.count()), kWriteFlags, IORING_OP_WRITE),
        broken_(ring_.error()) {
    for (int64_t slot = buffers_.count(); slot-- > 0;)
      free_.push_back(slot);
  }

  [[nodiscard]] bool works() const override { return broken_ == 0; }

  Failure write(int file,
                size_t count,
                const std::function<RingWrite(size_t, std::byte*)>& prepare) override {
    file_ = file;
    failure_ = {};
    for (size_t next = 0; next < count || under_way() > 0;) {
      for (; next < count && !free_.empty() && failure_.error == 0; ++next)
        begin(next, prepare);
      if (under_way() == 0) break;  // one has failed
      broken_ = ring_.submit_and_wait(under_way());
      reap();
      if (broken_ != 0) give_up();
    }
    return failure_;
  }

 private:
  struct UnderWay {
    size_t write = 0;
    RingWrite bytes;
    int64_t done = 0;
    bool is_asked = false;
  };

  [[nodiscard]] size_t under_way() const { return writes_.size() - free_.size(); }

  void begin(size_t i, const std::function<RingWrite(size_t, std::byte*)>& prepare) {
    const int64_t slot = free_.back();
    writes_[static_cast<size_t>(slot)] = {i, prepare(i, buffers_[slot]), 0, true};
    free_.pop_back();
    ask(slot);
  }

  // For what is not written of a slot. There is an entry per slot.
  void ask(int64_t slot) {
    const UnderWay& write = writes_[static_cast<size_t>(slot)];
    io_uring_sqe* const entry = io_uring_get_sqe(ring_.get());
    io_uring_prep_write(entry, file_, buffers_[slot] + write.done,
                        static_cast<unsigned>(write.bytes.size - write.done),
                        static_cast<uint64_t>(write.bytes.offset + write.done));
    entry->user_data = static_cast<uint64_t>(slot);
  }

  void reap() {
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(ring_.get(), &entry) == 0) {
      const auto slot = static_cast<int64_t>(entry->user_data);
      const int result = entry->res;
      io_uring_cqe_seen(ring_.get(), entry);
      arrive(slot, result);
    }
  }

  void arrive(int64_t slot, int result) {
    UnderWay& write = writes_[static_cast<size_t>(slot)];
    if (result > 0) write.done += result;
    const bool again = result == -EINTR || result == -EAGAIN;
    if (again || (result > 0 && write.done < write.bytes.size)) return ask(slot);
    finish(slot, result < 0 ? -result : result == 0 ? ENOSPC : 0);
  }

  void finish(int64_t slot, int error) {
    UnderWay& write = writes_[static_cast<size_t>(slot)];
    if (error != 0 && (failure_.error == 0 || write.write < failure_.write))
      failure_ = {write.write, error};
    write.is_asked = false;
    free_.push_back(slot);
  }

  // The ring does not work. What the kernel has is waited for: it reads the buffers, and could
  // write old rows over those that the caller writes in another way. The rest it never gets.
  void give_up() {
    for (; under_way() > ring_.unsubmitted(); reap())
      wait_a_moment();
    for (int64_t slot = 0; slot < buffers_.count(); ++slot)
      if (writes_[static_cast<size_t>(slot)].is_asked) finish(slot, broken_);
  }

  ReadSlots buffers_;
  std::vector<UnderWay> writes_;  // by slot
  std::vector<int64_t> free_;     // slots
  Ring ring_;                     // closed before the buffers are gone
  int broken_;                    // errno
  int file_ = -1;
  Failure failure_;
};

}  // namespace

std::unique_ptr<WriteRing> make_write_ring(int64_t most_bytes) {
  auto ring = std::make_unique<RingOfWrites>(most_bytes);
  return ring->works() ? std::move(ring) : nullptr;
}

}  // namespace ramet
