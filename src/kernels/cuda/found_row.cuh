// Where the row of an id is: in the table, or in the device's cache.
#pragma once

#include "kernels/cuda/row_access.h"
#include "kernels/cuda/row_ids.cuh"
#include "kernels/cuda_rows.h"

namespace ramet {

// The scales of int8: of a row its own, or for every row the same ones.
struct RowScales {
  const float* data = nullptr;
  bool by_row = false;
};

struct FoundRow {
  const char* data;  // nullptr: there is none
  const float* scale;
  int64_t position;  // of `out`
  bool is_cached;
  bool streams;  // it comes over the bus, once
};

// An id and what the cache says of it, for several rows at once: all ids are on their way before
// the first is used, and then all slots.
template <int kRows>
class FindRows {
 public:
  __device__ FindRows(const CudaGatherArgs& args, int64_t first, int64_t stride) {
    for (int r = 0; r < kRows; ++r) {
      const int64_t i = first + r * stride;
      is_there_[r] = i < args.num_ids;
      if (!is_there_[r]) continue;
      id_[r] = id_at(args.ids, args.wide_ids, i);
      position_[r] = args.positions == nullptr ? i : int64_t{__ldg(args.positions + i)};
    }
    for (int r = 0; r < kRows; ++r) {
      is_row_[r] = is_there_[r] && is_row(id_[r], args.num_rows);
      const bool asks = is_row_[r] && args.cache.slot != nullptr;
      slot_[r] = asks ? __ldg(args.cache.slot + id_[r]) : -1;
    }
  }

  __device__ FoundRow row(const CudaGatherArgs& args, RowScales scales, int r) const {
    if (!is_row_[r]) return {nullptr, nullptr, 0, false, false};
    const bool is_cached = slot_[r] >= 0;
    const int64_t at = is_cached ? slot_[r] : id_[r];
    const void* const rows = is_cached ? args.cache.rows : args.table;
    const float* const of_rows = is_cached ? args.cache.scale : scales.data;
    return {static_cast<const char*>(rows) + at * args.row_bytes,
            scales.by_row ? of_rows + at : scales.data, position_[r], is_cached,
            args.on_host && !is_cached};
  }

  // Of one lane of the row.
  __device__ bool is_hit(int r) const { return slot_[r] >= 0; }
  __device__ void report(const CudaGatherArgs& args, int r) const {
    if (is_there_[r] && !is_row_[r]) report_bad(args.bad, position_[r]);
  }

 private:
  int64_t id_[kRows], position_[kRows];
  int slot_[kRows];
  bool is_there_[kRows], is_row_[kRows];
};

// What comes from the host is read once, and leaves the caches first; rows in device memory, above
// all those of the cache, may be wanted again.
template <typename T>
__device__ T load_once(const T* from, bool streams) {
  return streams ? __ldcs(from) : __ldg(from);
}

}  // namespace ramet
