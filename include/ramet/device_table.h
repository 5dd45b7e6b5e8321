// DeviceTable: rows of a table that lies on a device, found by id, for ids and rows on that device:
// the fastest way to them. For callers on the host Table and WholeTable (whole_table.h) do.
//
// Keeps the table alive. gather() may run in any thread and in several at once; nothing orders it
// with what other streams write. Failure: kOutOfRange names the first id outside the table;
// kInvalidArgument for arrays of another device, dtype or shape, and for a table on the host.
#pragma once

#include <memory>
#include <optional>

#include "ramet/array.h"
#include "ramet/cuda.h"
#include "ramet/cuda_table.h"
#include "ramet/table.h"
#include "ramet/whole_table.h"

namespace ramet {

class DevicePlaces;

class DeviceTable {
 public:
  // `places`: where ids have their rows; none: a row's number is its id.
  explicit DeviceTable(Table rows_by_place, const std::optional<RowPlaces>& places = std::nullopt);

  // Writes row ids[i] to row i of `out` on the stream, as CudaTable::gather(). Waits until all ids
  // are known to be rows; nothing is read where one is not. With places options.bad is not used.
  void gather(const Array& ids,
              const Array& out,
              CudaStreamHandle stream,
              const CudaGatherOptions& options = {}) const;

 private:
  CudaTable rows_;
  int64_t num_rows_;
  std::shared_ptr<const DevicePlaces> places_;
};

}  // namespace ramet
