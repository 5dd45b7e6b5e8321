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

// Ids of several rows, and where these go: all are on their way at once. The next ones are read
// while rows are on their way, or else each round would wait for its ids first.
template <int kRows>
struct ReadIds {
  __device__ ReadIds(const CudaGatherArgs& args, int64_t first, int64_t stride) {
    for (int r = 0; r < kRows; ++r) {
      const int64_t i = first + r * stride;
      is_there[r] = i < args.num_ids;
      if (!is_there[r]) continue;
      id[r] = id_at(args.ids, args.wide_ids, i);
      position[r] = args.positions == nullptr ? i : int64_t{__ldg(args.positions + i)};
    }
  }

  int64_t id[kRows], position[kRows];
  bool is_there[kRows];
};

// What the cache says of them.
template <int kRows>
class FindRows {
 public:
  __device__ FindRows(const CudaGatherArgs& args, const ReadIds<kRows>& ids) : ids_(ids) {
    for (int r = 0; r < kRows; ++r) {
      is_row_[r] = ids.is_there[r] && is_row(ids.id[r], args.num_rows);
      const bool asks = is_row_[r] && args.cache.slot != nullptr;
      slot_[r] = asks ? __ldg(args.cache.slot + ids.id[r]) : -1;
    }
  }

  __device__ FoundRow row(const CudaGatherArgs& args, RowScales scales, int r) const {
    if (!is_row_[r]) return {nullptr, nullptr, 0, false, false};
    const bool is_cached = slot_[r] >= 0;
    const int64_t at = is_cached ? slot_[r] : ids_.id[r];
    const void* const rows = is_cached ? args.cache.rows : args.table;
    const float* const of_rows = is_cached ? args.cache.scale : scales.data;
    return {static_cast<const char*>(rows) + at * args.row_bytes,
            scales.by_row ? of_rows + at : scales.data, ids_.position[r], is_cached,
            args.on_host && !is_cached};
  }

  // Of one lane of the row.
  __device__ bool is_hit(int r) const { return slot_[r] >= 0; }
  __device__ void report(const CudaGatherArgs& args, int r) const {
    if (ids_.is_there[r] && !is_row_[r]) report_bad(args.bad, ids_.position[r]);
  }

 private:
  ReadIds<kRows> ids_;
  int slot_[kRows];
  bool is_row_[kRows];
};

// What comes from the host is read once, and leaves the caches first; rows in device memory, above
// all those of the cache, may be wanted again.
template <typename T>
__device__ T load_once(const T* from, bool streams) {
  return streams ? __ldcs(from) : __ldg(from);
}

}  // namespace ramet
