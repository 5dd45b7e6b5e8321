// DevicePiece: device memory that several processes read and write, as a descriptor without a name.
// It has no address until map_on_device() maps it, beside others, into one range of addresses for
// kernels of its own device, or of a device that can read its memory.
//
// Memory: the driver keeps it while a process has its descriptor or a mapping of it, so that
// nothing is left once all are gone, however they ended. Unmapping waits for this process's work on
// the device; other processes order their own work. Threads: immutable. Forks: see cuda.h; in a
// forked child nothing is freed. Failure: kNoSpace if the device has no memory left; kDevice as in
// cuda.h, and for a device that cannot read the memory of a piece's device, naming both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace ramet {

class DevicePiece {
 public:
  // Zeros. `bytes`: a multiple of unit(device), or 0.
  [[nodiscard]] static DevicePiece create(int device, int64_t bytes);
  // A piece of another process, with its size, for work on `device`. `fd` stays the caller's.
  [[nodiscard]] static DevicePiece open(int device, int fd, int64_t bytes);
  [[nodiscard]] static int64_t unit(int device);

  // Always the same for one piece; -1 if it has no bytes.
  [[nodiscard]] int fd() const;
  [[nodiscard]] int64_t bytes() const;
  [[nodiscard]] int device() const;  // that it lies on, as this process numbers devices

 private:
  struct State;
  friend std::shared_ptr<void> map_on_device(std::span<const struct PlacedPiece>, int64_t, int);
  explicit DevicePiece(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

// Where a piece lies in a range of addresses.
struct PlacedPiece {
  DevicePiece piece;
  int64_t offset = 0;  // bytes; a multiple of DevicePiece::unit()
};

// The pieces in one range of at least `bytes` addresses, which kernels of `device` read and write,
// in ascending order and not overlapping. Keeps the memory alive.
[[nodiscard]] std::shared_ptr<void> map_on_device(std::span<const PlacedPiece> pieces,
                                                  int64_t bytes,
                                                  int device);

// Throws kDevice unless kernels of `device` can read and write memory of `other`.
void require_access(int device, int other);

}  // namespace ramet
