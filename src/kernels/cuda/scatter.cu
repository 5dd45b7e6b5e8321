// The scatter: row i becomes row ids[i] of the table, and where an id repeats the last one wins,
// whichever order threads run in.
//
// First every position enters a hash table of its id: open addressing with linear probing, whose
// slots hold positions alone, since a position tells its id. A slot is taken by compare-and-swap;
// positions of the same id then leave the greatest of them there by an atomic maximum, so the slots
// that ids look through never change their id. Then each position looks its id up, and writes its
// row where it finds itself. That is 8 to 16 bytes of scratch per id, whatever the table's size.
#include <bit>

#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/move_row.cuh"
#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/row_ids.cuh"
#include "kernels/cuda/rows.h"

namespace ramet {
namespace {

constexpr unsigned kEmpty = 0xFFFFFFFF;

// Where positions of the same id meet. At least half of the slots stay empty.
struct LastOf {
  unsigned* slots;
  unsigned mask;  // slots - 1, a power of two
  const void* ids;
  bool wide;

  __device__ unsigned first_slot(int64_t id) const {
    // The high bits of a product with 2^64 / golden ratio depend on all of the id's.
    return static_cast<unsigned>(static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15u >> 32) & mask;
  }

  __device__ void insert(int64_t id, unsigned position) const {
    for (unsigned slot = first_slot(id);; slot = (slot + 1) & mask) {
      const unsigned there = atomicCAS(slots + slot, kEmpty, position);
      if (there == kEmpty) return;
      if (id_at(ids, wide, there) != id) continue;
      atomicMax(slots + slot, position);
      return;
    }
  }

  // Of an id that was inserted.
  __device__ unsigned find(int64_t id) const {
    for (unsigned slot = first_slot(id);; slot = (slot + 1) & mask) {
      const unsigned position = slots[slot];
      if (id_at(ids, wide, position) == id) return position;
    }
  }
};

__global__ void __launch_bounds__(kLimitedThreads) insert_ids(CudaScatterArgs args, LastOf last) {
  const RowLanes positions(1);
  for (int64_t i = positions.first_row; i < args.num_ids; i += positions.stride) {
    const int64_t id = id_at(args.ids, args.wide_ids, i);
    if (is_row(id, args.num_rows))
      last.insert(id, static_cast<unsigned>(i));
    else
      report_bad(args.bad, i);
  }
}

template <typename Unit>
__global__ void __launch_bounds__(kLimitedThreads)
    write_last(CudaScatterArgs args, LastOf last, RowAccess access) {
  const RowLanes rows(access.lanes);
  const int64_t units = args.row_bytes / static_cast<int64_t>(sizeof(Unit));
  for (int64_t i = rows.first_row; i < args.num_ids; i += rows.stride) {
    const int64_t id = id_at(args.ids, args.wide_ids, i);
    if (!is_row(id, args.num_rows) || last.find(id) != i) continue;
    auto* const to = reinterpret_cast<Unit*>(static_cast<char*>(args.table) + id * args.row_bytes);
    move_row(static_cast<const Unit*>(args.rows) + i * units, to, units, access, to, rows.lane,
             [](Unit unit, int64_t) { return unit; });
  }
}

}  // namespace

void scatter_rows_cuda(int device, const CudaScatterArgs& args, void* stream) {
  if (args.num_ids == 0) return;
  const DeviceScope scope(device);
  auto* const on = static_cast<cudaStream_t>(stream);
  const int64_t scratch_bytes = scatter_scratch_bytes(args.num_ids);
  check_cuda(cudaMemsetAsync(args.scratch, 0xFF, static_cast<size_t>(scratch_bytes), on),
             "clearing the scratch memory of a scatter");
  const LastOf last{static_cast<unsigned*>(args.scratch),
                    static_cast<unsigned>(scratch_bytes / 4 - 1), args.ids, args.wide_ids};
  const RowGrid for_ids = row_grid(insert_ids, device, args.num_ids, 1, args.max_sms);
  launch("insert_ids", insert_ids, for_ids.blocks, for_ids.threads, on, args, last);
  const RowAccess access =
      row_access(reinterpret_cast<uint64_t>(args.table), reinterpret_cast<uint64_t>(args.rows),
                 args.row_bytes, 16, true);
  with_unit(access.unit, [&](auto unit) {
    const auto kernel = write_last<decltype(unit)>;
    const RowGrid grid = row_grid(kernel, device, args.num_ids, access.lanes, args.max_sms);
    launch("scatter_rows", kernel, grid.blocks, grid.threads, on, args, last, access);
  });
}

}  // namespace ramet
