// DeviceTable: rows by id of a table in device memory, or in host memory with a cache of its own in
// front, for ids and rows on that device. Callers on the host use Table and WholeTable
// (whole_table.h).
//
// Keeps the table alive. gather() may run in any thread and in several at once; it is not ordered
// with writes of other streams. Failure: kOutOfRange names the first id outside the table;
// kInvalidArgument for arrays of another device, dtype or shape, and for a table on the host
// without a cache.
#pragma once

#include <memory>
#include <optional>

#include "ramet/array.h"
#include "ramet/cuda.h"
#include "ramet/cuda_table.h"
#include "ramet/table.h"
#include "ramet/whole_table.h"

namespace ramet {

class DevicePositions;

class DeviceTable {
 public:
  // `positions`: the positions of rows by id; none: a row's position is its id.
  explicit DeviceTable(Table rows_by_position,
                       const std::optional<RowPositions>& positions = std::nullopt);
  // Of a table on the host, which the device reads in place, but for the rows `ids` (int64 [n] on
  // the host, each once): these are those of `cached`, in device memory.
  DeviceTable(Table on_host, const Array& ids, const Table& cached);

  // Writes row ids[i] to row i of `out` on the stream, as CudaTable::gather(). Waits until all ids
  // are checked; with a bad id nothing is read. With positions options.bad is not used.
  void gather(const Array& ids,
              const Array& out,
              CudaStreamHandle stream,
              const CudaGatherOptions& options = {}) const;

  // positions[i] = the position of row ids[i]: int64 [n] on the device. Waits as gather() does. Of
  // a table that was made with positions.
  void look_up(const Array& ids, const Array& positions, CudaStreamHandle stream) const;

 private:
  CudaTable rows_;
  int64_t num_rows_;
  bool is_dense_ = true;  // a row's position is its id
  std::shared_ptr<const DevicePositions> positions_;
};

// Writes row ids[i] of `rows` to row i of `out`, of their dtype or decoded to float32; rows of ids
// below 0 stay as they are. All is on one device. `ids` are int64.
void gather_device_rows(const Array& rows,
                        const Array& ids,
                        const Array& out,
                        CudaStreamHandle stream);

}  // namespace ramet
