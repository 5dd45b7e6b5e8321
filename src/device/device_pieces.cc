#include "ramet/device_pieces.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/system/posix.h"
#include "kernels/cuda_backend.h"
#include "ramet/error.h"

namespace ramet {
namespace {

const CudaPieces& calls() {
  return *require_cuda().pieces;
}

int64_t rounded_up(int64_t bytes, int64_t unit) {
  return std::max((bytes + unit - 1) / unit, int64_t{1}) * unit;
}

// A range of addresses, and what is mapped into it.
class ReservedRange {
 public:
  ReservedRange(int device, int64_t bytes)
      : device_(device),
        bytes_(rounded_up(bytes, calls().unit(device))),
        begin_(static_cast<char*>(calls().reserve(device, bytes_))) {}
  ReservedRange(const ReservedRange&) = delete;
  ReservedRange& operator=(const ReservedRange&) = delete;
  ~ReservedRange() {
    if (getpid() != process_) return;
    wait();
    for (const auto& [at, bytes] : mapped_)
      calls().unmap(device_, at, bytes);
    calls().unreserve(device_, begin_, bytes_);
  }

  [[nodiscard]] char* begin() const { return begin_; }
  [[nodiscard]] int64_t bytes() const { return bytes_; }

  void map(int64_t offset, int64_t bytes, CudaPieceHandle piece) {
    mapped_.reserve(mapped_.size() + 1);
    calls().map(device_, begin_ + offset, bytes, piece);
    mapped_.emplace_back(begin_ + offset, bytes);
  }

 private:
  // Kernels may still read what was mapped.
  void wait() const {
    try {
      require_cuda().runtime.synchronize_all(device_);
    } catch (const Error&) {
      // A kernel's own failure; its work is over.
    }
  }

  const pid_t process_ = getpid();
  int device_;
  int64_t bytes_;
  char* begin_;
  std::vector<std::pair<void*, int64_t>> mapped_;
};

}  // namespace

// Of no bytes: nothing of the driver's.
struct DevicePiece::State {
  State(int its_device, int64_t its_bytes) : device(its_device), bytes(its_bytes) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (fd >= 0) ::close(fd);
    if (is_held && getpid() == process) calls().release(used_on, handle);
  }

  const pid_t process = getpid();
  int device;
  int64_t bytes;
  int used_on = 0;
  bool is_held = false;
  CudaPieceHandle handle = 0;
  int fd = -1;
};

DevicePiece DevicePiece::create(int device, int64_t bytes) {
  const int64_t unit = calls().unit(device);
  if (bytes < 0 || bytes % unit != 0)
    throw_invalid("a piece of ", bytes, " bytes on device ", device,
                  ", whose memory comes in units of ", unit);
  const auto state = std::make_shared<State>(device, bytes);
  if (bytes == 0) return DevicePiece(state);
  state->used_on = device;
  state->handle = calls().create(device, bytes);
  state->is_held = true;
  state->fd = calls().descriptor(device, state->handle);
  DevicePiece piece(state);
  const PlacedPiece placed{piece, 0};
  const std::shared_ptr<void> mapped = map_on_device(std::span(&placed, 1), bytes, device);
  const CudaRuntime& runtime = require_cuda().runtime;
  runtime.fill(device, mapped.get(), 0, bytes, nullptr);
  runtime.synchronize(device, nullptr);
  return piece;
}

DevicePiece DevicePiece::open(int device, int fd, int64_t bytes) {
  if (bytes < 0) throw_invalid("a piece of ", bytes, " bytes");
  const auto state = std::make_shared<State>(device, bytes);
  if (bytes == 0) return DevicePiece(state);
  state->used_on = device;
  state->handle = calls().open(device, fd);
  state->is_held = true;
  state->device = calls().device_of(device, state->handle);
  state->fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);  // CUDA gives none to a process that opened a piece
  if (state->fd < 0) throw_errno(errno, "duplicate", concat("descriptor ", fd));
  return DevicePiece(state);
}

int64_t DevicePiece::unit(int device) {
  return calls().unit(device);
}

int DevicePiece::fd() const {
  return state_->fd;
}

int64_t DevicePiece::bytes() const {
  return state_->bytes;
}

int DevicePiece::device() const {
  return state_->device;
}

std::shared_ptr<void> map_on_device(std::span<const PlacedPiece> pieces,
                                    int64_t bytes,
                                    int device) {
  const int64_t unit = calls().unit(device);
  // The pieces outlive the range.
  struct Mapped {
    std::vector<DevicePiece> pieces;
    ReservedRange range;
  };
  const auto mapped = std::shared_ptr<Mapped>(new Mapped{{}, {device, bytes}});
  int64_t end = 0;
  for (const auto& [piece, offset] : pieces) {
    if (offset < end || offset % unit != 0 || piece.bytes() > mapped->range.bytes() - offset)
      throw_invalid("a piece of ", piece.bytes(), " bytes at byte ", offset, " of ", bytes,
                    "; the piece before ends at ", end, ", and the unit is ", unit);
    end = offset + piece.bytes();
    if (piece.bytes() == 0) continue;
    require_access(device, piece.device());
    mapped->range.map(offset, piece.bytes(), piece.state_->handle);
    mapped->pieces.push_back(piece);
  }
  return {mapped, mapped->range.begin()};
}

void require_access(int device, int other) {
  if (calls().can_access(device, other)) return;
  throw_error(ErrorCode::kDevice, "device ", device, " (", cuda_device(device).pci_bus_id,
              ") cannot read memory of device ", other, " (", cuda_device(other).pci_bus_id,
              "): they are not peers, so a table cannot lie on both");
}

}  // namespace ramet
