// DeviceRows: rows that a device reads itself: from a copy in its memory, or in place, with or
// without a device cache in front.
#pragma once

#include "ramet/cuda_table.h"
#include "tables/row_source.h"

namespace ramet {

class DeviceRows final : public RowSource {
 public:
  // Rows of `table` as `form` says: as they are stored, or as float32 or bfloat16.
  DeviceRows(CudaTable table, RowForm form)
      : RowSource(std::move(form)), table_(std::move(table)) {}

  [[nodiscard]] int ids_device() const override { return table_.device(); }
  [[nodiscard]] const CudaTable* on_device() const override {
    const bool is_there = table_.table().rows().device != kHost;
    return is_there || table_.placement() == Location::kDevice ? &table_ : nullptr;
  }
  // Gives the gather to the stream. `ids` int32 or int64 of the device; they may die at once where
  // they are of a pool that waits for the stream.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  CudaTable table_;
};

}  // namespace ramet
