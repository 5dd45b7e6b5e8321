// CudaTable: a Table as one device reads it: a copy in its memory, or in place in page-locked
// memory of the host, then with a cache of chosen rows in device memory in front if wanted.
//
// Keeps the table alive, and waits for the device before it lets go of any memory: it may die while
// kernels read it. gather() may run in any thread and in several at once; scatter() is ordered with
// other calls by their streams alone. What it reads by is fixed at construction.
// Failure: kDevice and kNoSpace as cuda.h and cuda_memory.h say; kInvalidArgument for arrays of the
// wrong dtype, shape or device. In a forked child of a process that has used CUDA, kDevice.
#pragma once

#include <cstdint>
#include <memory>

#include "ramet/array.h"
#include "ramet/cuda.h"
#include "ramet/placement.h"
#include "ramet/table.h"

namespace ramet {

struct CudaTableOptions {
  int device = 0;
  // kDevice: of a read-only Array that has an owner, everyone in the process who asks for a copy on
  // the same device shares one. kInPlace: a scale by row is read in place, too. kPinnedCopy.
  Placement placement = Location::kInPlace;
  // Where registration is refused and the memory that is available holds it: kPinnedCopy.
  bool copy_where_refused = false;
  // int32 or int64 [n] on the host: the rows to be in device memory in front of a table that is
  // not, which takes n rows and 4 bytes for each row of the table. kOutOfRange for a row there is
  // not. An Array of no shape: no cache.
  Array cached = {};
};

// `check`: waits for the stream, and throws kOutOfRange that names the first id outside the table;
// the rows of others are written then. Without it nothing waits, and `bad` tells the same later.
struct CudaGatherOptions {
  bool decode = false;  // float16, bfloat16 and scaled int8 come as float32
  bool check = false;
  int max_sms = 0;           // of CudaGatherArgs, as what follows
  uint64_t* bad = nullptr;   // for gathers without `check`
  uint64_t* hits = nullptr;  // nullptr: those are counted that num_hits() tells
  bool shift = true;
};

struct CudaScatterOptions {
  // uint8, scatter_scratch_bytes(n) or more of the device. An Array of no shape: scatter()
  // allocates it, and waits until all is done.
  Array scratch = {};
  bool check = false;
  int max_sms = 0;
  uint64_t* bad = nullptr;
};

class PlacedTable;

class CudaTable {
 public:
  CudaTable(Table table, const CudaTableOptions& options);

  [[nodiscard]] const Table& table() const;
  [[nodiscard]] int device() const;
  [[nodiscard]] Placement placement() const;  // as it became
  // Why registration was refused, where a copy was made instead; else "".
  [[nodiscard]] const std::string& refusal() const;
  [[nodiscard]] int64_t num_cached() const;
  // Of device memory: the copy (also where it is shared), or the cache with its map.
  [[nodiscard]] int64_t device_bytes() const;
  // The rows in memory that kernels of the device read: of the copy its Array, else registered ones
  // of the host by their address there.
  [[nodiscard]] Array rows() const;

  // Writes row ids[i] to row i of `out` on the stream. `ids` are int32 or int64 [n], `out` is an
  // Array of n rows, of the table's dtype or float32; each is of the device, or in page-locked
  // memory of the host. `ids` may be in ordinary memory of the host, too: then it waits until all
  // is done. An id outside the table reads nothing, and leaves its row of `out` as it is.
  void gather(const Array& ids,
              const Array& out,
              CudaStreamHandle stream,
              const CudaGatherOptions& options = {}) const;

  // Device memory that scatter() needs beside its arguments.
  [[nodiscard]] static int64_t scatter_scratch_bytes(int64_t num_ids);
  // Writes row i of `rows`, of the table's dtype, to row ids[i]; where an id repeats the last wins.
  // kInvalidArgument for a table that is not writable, and for one with a cache. Of a table that
  // was copied, the copy is written.
  void scatter(const Array& ids,
               const Array& rows,
               CudaStreamHandle stream,
               const CudaScatterOptions& options = {}) const;

  // Ids found in the cache so far, of gathers that are done.
  [[nodiscard]] int64_t num_hits() const;

 private:
  std::shared_ptr<const PlacedTable> placed_;
};

}  // namespace ramet
