// CudaTable: a Table as one device reads it: a copy in device memory, or in place in page-locked
// host memory, optionally with a cache of chosen rows in device memory. A Table in device memory is
// used in place (kInPlace).
//
// Keeps the table alive, and waits for the device before it frees memory: it may be destroyed while
// kernels read it. gather() may run in any thread and in several at once. Only streams order
// scatter() with other calls. The placement is fixed at construction. Failure: kDevice and kNoSpace
// as cuda.h and cuda_memory.h say; kInvalidArgument for arrays of the wrong dtype, shape or device.
// In a forked child of a process that has used CUDA, kDevice.
#pragma once

#include <cstdint>
#include <memory>

#include "ramet/array.h"
#include "ramet/cuda.h"
#include "ramet/placement.h"
#include "ramet/progress.h"
#include "ramet/row_order.h"
#include "ramet/table.h"

namespace ramet {

struct CudaTableOptions {
  int device = 0;
  // kDevice: a read-only Array that has an owner is copied once per process and device. kInPlace: a
  // scale by row is read in place, too. kPinnedCopy.
  Location placement = Location::kInPlace;
  // Use kPinnedCopy if registration is refused and the available memory holds a copy.
  bool copy_where_refused = false;
  // int32 or int64 [n] on the host: the rows to cache in device memory, for a table in host memory.
  // Takes n rows, and 4 bytes for each row of the table. kOutOfRange for a row out of range. An
  // Array without a shape: no cache.
  Array cached = {};
  // Writable rows on the device that are these rows' cache: the caller fills them, and may write
  // them as a table of their own. An Array without a shape: memory of the CudaTable, filled from
  // the table.
  Array cached_rows = {};
  Progress progress = {};  // of page-locking; not kept
};

// `check`: waits for the stream, and throws kOutOfRange naming the first id outside the table; the
// other rows are written. Without it the host does not wait, and `bad` has the result later.
struct CudaGatherOptions {
  bool decode = false;  // float16, bfloat16 and scaled int8 come as float32
  bool check = false;
  // kSorted takes device memory of the stream's pool: 4 bytes for each id, and a copy of the id.
  RowOrder order = RowOrder::kAuto;
  int max_sms = kEnoughSms;  // of CudaGatherArgs, as what follows
  uint64_t* bad = nullptr;   // for gathers without `check`
  uint64_t* hits = nullptr;  // nullptr: those are counted that num_hits() tells
  bool shift = true;
};

struct CudaScatterOptions {
  // uint8 device memory, at least scatter_scratch_bytes(n). An Array without a shape: scatter()
  // allocates it, and waits until all work is done.
  Array scratch = {};
  bool check = false;
  int max_sms = kEnoughSms;  // all
  uint64_t* bad = nullptr;
};

class PlacedTable;

class CudaTable {
 public:
  CudaTable(Table table, const CudaTableOptions& options);

  [[nodiscard]] const Table& table() const;
  [[nodiscard]] int device() const;
  [[nodiscard]] Location placement() const;  // as it became
  // Why registration was refused and a copy made instead; else "".
  [[nodiscard]] const std::string& refusal() const;
  [[nodiscard]] int64_t num_cached() const;
  // Bytes of device memory: the copy (also where it is shared), or the cache with its map.
  [[nodiscard]] int64_t device_bytes() const;
  // The rows as kernels of the device address them: the Array of the copy, or registered host
  // memory at its device address.
  [[nodiscard]] Array rows() const;
  // The same of the scale of int8; an Array without a shape where there is none.
  [[nodiscard]] Array scale() const;

  // Writes row ids[i] to row i of `out` on the stream. `ids` are int32 or int64 [n]; `out` has n
  // rows, of the table's dtype or float32. Both are in device memory or page-locked host memory.
  // `ids` may also be in ordinary host memory: the call then waits until all work is done. An id
  // outside the table reads nothing, and leaves its row of `out` unchanged.
  void gather(const Array& ids,
              const Array& out,
              CudaStreamHandle stream,
              const CudaGatherOptions& options = {}) const;

  // Device memory that scatter() needs beside its arguments.
  [[nodiscard]] static int64_t scatter_scratch_bytes(int64_t num_ids);
  // Writes row i of `rows`, of the table's dtype, to row ids[i]; where an id repeats the last wins.
  // kInvalidArgument for a table that is read-only or has a cache. For a copied table, the copy is
  // written.
  void scatter(const Array& ids,
               const Array& rows,
               CudaStreamHandle stream,
               const CudaScatterOptions& options = {}) const;

  // Ids found in the cache by finished gathers.
  [[nodiscard]] int64_t num_hits() const;

 private:
  std::shared_ptr<const PlacedTable> placed_;
};

}  // namespace ramet
