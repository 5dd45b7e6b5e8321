// The part of the CUDA seam (cuda_backend.h) for memory that several processes map: a *piece* is
// memory of a device without an address, which a descriptor hands to other processes; it is mapped
// into a range of addresses that every process reserves for itself. DevicePiece
// (ramet/device_pieces.h) and map_on_device() own what these calls return.
#pragma once

#include <cstdint>

namespace ramet {

using CudaPieceHandle = uint64_t;

struct CudaPieces {
  // Sizes of pieces and of ranges, and where pieces lie in a range, are multiples of this.
  int64_t (*unit)(int device);
  // Whether kernels of `device` can read and write memory of `other`.
  bool (*can_access)(int device, int other);

  // Contents undefined. kNoSpace.
  CudaPieceHandle (*create)(int device, int64_t bytes);
  // What another process has exported; `fd` stays the caller's. kDevice where it is none, and where
  // this process does not see the device that it lies on.
  CudaPieceHandle (*open)(int device, int fd);
  int (*device_of)(int device, CudaPieceHandle piece);
  // A descriptor, of which the caller owns one.
  int (*descriptor)(int device, CudaPieceHandle piece);
  // Memory lives while it is mapped, or while a process has a handle or a descriptor of it.
  void (*release)(int device, CudaPieceHandle piece);  // never throws

  void* (*reserve)(int device, int64_t bytes);
  void (*unreserve)(int device, void* range, int64_t bytes);  // never throws
  // All of a piece, for kernels of `device` to read and write.
  void (*map)(int device, void* at, int64_t bytes, CudaPieceHandle piece);
  void (*unmap)(int device, void* at, int64_t bytes);  // never throws
};

}  // namespace ramet
