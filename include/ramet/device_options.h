// DeviceOptions: batches that are made on a CUDA device, and stay there.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/array.h"
#include "ramet/cache_by.h"
#include "ramet/cuda.h"
#include "ramet/placement.h"
#include "ramet/row_order.h"

namespace ramet {

struct DeviceOptions {
  int index = kHost;  // of the device; kHost: host batches
  Location topology = Location::kAuto;
  std::vector<Location> tables;  // one per LoaderOptions::tables; empty: all kAuto
  int64_t copy_bytes = -1;       // of device memory for copies, at most; -1: half of what is free
  int64_t cache_rows = 0;        // of each table that is read in place at all nodes
  CacheBy cache_by = CacheBy::kAuto;
  int max_sms = kEnoughSms;  // multiprocessors that gathering may use; 0: all
  RowOrder order = RowOrder::kAuto;
};

}  // namespace ramet
