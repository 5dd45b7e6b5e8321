// PlacedTable: a table where one device reads it, and the memory that this takes.
//
// Immutable but for the counters. It waits for the device before it lets go of memory that kernels
// may still read, except in a forked child.
#pragma once

#include <unistd.h>

#include <mutex>
#include <string>

#include "kernels/cuda_rows.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_table.h"
#include "tables/cache/device_cache.h"

namespace ramet {

class PlacedTable {
 public:
  // Two words in device memory that kernels count in.
  struct Counters {
    uint64_t hits = 0;
    uint64_t bad = kNoBadId;
  };

  PlacedTable(Table its_table, const CudaTableOptions& options);
  ~PlacedTable();
  PlacedTable(const PlacedTable&) = delete;
  PlacedTable& operator=(const PlacedTable&) = delete;

  [[nodiscard]] Counters* counters() const { return static_cast<Counters*>(counters_.get()); }

  const Table table;
  const int device;
  Location placement = Location::kAuto;
  std::string refusal;
  bool on_host = false;  // kernels read rows from memory of the host
  void* rows = nullptr;  // by their address on the device, as `scale`
  const float* scale = nullptr;
  DeviceCache cache;
  int64_t device_bytes = 0;
  mutable std::mutex checking;  // one at a time uses counters()->bad

 private:
  // A scale by row is read with its row, so it lies where the rows do; one by column is small.
  [[nodiscard]] bool scales_rows() const;
  void read_there(bool caches);
  void lock(const CudaTableOptions& options);
  void lock_in_place(const Progress& progress);
  void copy_to_host();
  void copy_to_device();
  void copy_scale();

  const pid_t process_ = getpid();
  std::shared_ptr<void> counters_;
  HostRegistration locked_rows_, locked_scale_;
  std::shared_ptr<const void> copy_, copied_scale_;  // of the device, or page-locked
};

}  // namespace ramet
