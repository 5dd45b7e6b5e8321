// How fast a device reads rows of a table that stays in host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ramet/cuda_memory.h"
#include "tables/row_source.h"

namespace ramet {

// Bytes of rows a second, by two ways of reading host memory.
struct ReadingRates {
  double in_place = 0;  // 0 where the device cannot; the other is not measured then
  double staged = 0;
  std::string refusal = "";                    // why it cannot
  std::shared_ptr<const void> kept = nullptr;  // what is page-locked, for whoever reads in place
};

struct MeasureOptions {
  bool decode = true;
  int threads = 1;
  int max_sms = kEnoughSms;
  RowOrder order = RowOrder::kAuto;
  int64_t part_bytes = int64_t{256} << 20;  // of the table, at most
};

// Gathers a few thousand random rows of a part of the table, both ways, three times; the fastest
// counts. The part is read into memory and page-locked, no other page is. Several reads are on
// their way at once, so that rows are staged while others are copied, as in a loader. `pinned`: a
// pool of page-locked memory.
[[nodiscard]] ReadingRates measure_reading(const Table& table,
                                           DevicePool& pool,
                                           const std::shared_ptr<BufferPool>& pinned,
                                           const MeasureOptions& options);

}  // namespace ramet
