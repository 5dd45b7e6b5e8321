// DevicePositions: RowPositions (ramet/whole_table.h) that kernels of a device look up.
//
// Takes 4 or 8 bytes of device memory for each row where owners are not ranges, which processes do
// not share. Immutable; any thread; not after a fork. Lives until its kernels have finished.
#pragma once

#include <memory>

#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"
#include "ramet/whole_table.h"

namespace ramet {

class DevicePositions {
 public:
  DevicePositions(const RowPositions& positions, int device);

  [[nodiscard]] int device() const { return device_; }
  // Writes the positions of `ids`, int32 or int64 [n], to `positions`, int64 [n], both of the
  // device; -1 of an id that is no row. `bad`: as in CudaGatherArgs.
  void look_up(const Array& ids,
               const Array& positions,
               CudaStreamHandle stream,
               uint64_t* bad = nullptr) const;

 private:
  int device_;
  int64_t num_rows_;
  int size_ = 0;
  bool wide_map_ = false;
  std::shared_ptr<void> begins_, deltas_, map_;
};

}  // namespace ramet
