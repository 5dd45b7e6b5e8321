// How fast a device reads rows of a table that stays in host memory.
#pragma once

#include <memory>
#include <string>

#include "ramet/cuda_memory.h"
#include "tables/row_source.h"

namespace ramet {

// Bytes of rows a second, by two ways of reading host memory.
struct ReadingRates {
  double in_place = 0;  // 0 where the device cannot
  double staged = 0;
  std::string refusal = "";                    // why it cannot
  std::shared_ptr<const void> kept = nullptr;  // what is page-locked, for whoever reads in place
};

struct MeasureOptions {
  bool decode = true;
  int threads = 1;
  int max_sms = kEnoughSms;
  RowOrder order = RowOrder::kAuto;
};

// Gathers a few thousand random rows, both ways, three times; the fastest counts. `pinned`: a pool
// of page-locked memory. kNoSpace, kDevice.
[[nodiscard]] ReadingRates measure_reading(const Table& table,
                                           DevicePool& pool,
                                           const std::shared_ptr<BufferPool>& pinned,
                                           const MeasureOptions& options);

}  // namespace ramet
