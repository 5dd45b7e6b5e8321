// What the sampling kernels share.
#pragma once

#include <cuda_runtime.h>

#include "base/dependent_lanes.h"
#include "base/exponential_lanes.h"
#include "base/lanes_scalar.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda_sampling.h"

namespace ramet {

inline constexpr unsigned kThreads = kCudaItems;
inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Starts a thread for each of `count` items, in blocks of kThreads.
template <typename... Parameters, typename... Arguments>
void launch_each(const char* name,
                 void (*kernel)(Parameters...),
                 int64_t count,
                 void* stream,
                 const Arguments&... arguments) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  launch(name, kernel, dim3(blocks), dim3(kThreads), static_cast<cudaStream_t>(stream),
         arguments...);
}

__device__ inline int64_t thread_number() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline void record_bad(uint64_t* bad, int64_t number) {
  atomicMin(reinterpret_cast<unsigned long long*>(bad), static_cast<unsigned long long>(number));
}

// The t-th random word of `keys`.
__device__ inline uint64_t draw(const DrawKeys& keys, const NormalTables& tables, uint64_t t) {
  const uint64_t now = absorb(keys.now, t);
  if (keys.mixture.plain) return now;
  return dependent_lanes<Scalar>(now, absorb(keys.next, t), keys.mixture, tables);
}

__device__ inline int64_t draw_below(const DrawKeys& keys,
                                     const NormalTables& tables,
                                     int64_t t,
                                     int64_t n) {
  const uint64_t word = draw(keys, tables, static_cast<uint64_t>(t));
  return static_cast<int64_t>(uniform_below(word, static_cast<uint64_t>(n)));
}

__device__ inline int64_t load_id(const void* ids, bool wide, int64_t i) {
  return wide ? __ldg(static_cast<const int64_t*>(ids) + i)
              : __ldg(static_cast<const int32_t*>(ids) + i);
}

// Of the in-edge at `position`, whose group may be in the device's memory, too.
__device__ inline int64_t load_source_id(const CudaCsc& edges, int64_t position) {
  if (edges.cached.slots != nullptr) {
    const int64_t slot = __ldg(edges.cached.slots + position / kEdgeGroup);
    if (slot >= 0)
      return load_id(edges.cached.indices, edges.wide_ids,
                     slot * kEdgeGroup + position % kEdgeGroup);
  }
  return load_id(edges.indices, edges.wide_ids, position);
}

__device__ inline void store_position(const CudaPositions& positions, int64_t i, int64_t position) {
  if (positions.wide) {
    static_cast<int64_t*>(positions.data)[i] = position;
  } else {
    static_cast<int32_t*>(positions.data)[i] = static_cast<int32_t>(position);
  }
}

// The row that entry e is in, one of [low, high]: the last that begins at or before e.
__device__ inline int64_t row_between(const int64_t* offset, int64_t low, int64_t high, int64_t e) {
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (offset[middle] <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The row that item e is in, a pick or an in-edge. The block that it belongs to says within which
// rows to look; these are few, and near in memory.
__device__ inline int64_t row_of(const int64_t* offset, const int32_t* first_row, int64_t e) {
  const int64_t block = e / kCudaItems;
  return row_between(offset, first_row[block], first_row[block + 1], e);
}

// The destination that a row is of.
__device__ inline int64_t dst_of(const uint32_t* dst, int64_t row) {
  return dst == nullptr ? row : int64_t{dst[row]};
}

// The position in the relation of a row's pick, which is counted from the first row.
__device__ inline int64_t output_index(const CudaRowOrder& order, int64_t row, int64_t pick) {
  if (order.dst == nullptr) return pick;
  return order.indptr[order.dst[row]] + (pick - order.picks_before[row]);
}

// Where in-edge x of a row stands in its edge type.
__device__ inline int64_t position_at(const CudaRows& rows, const CudaRow& row, int64_t x) {
  return rows.position == nullptr ? row.begin + x : rows.position[row.begin + x];
}

// The same of in-edge e, which is counted from the first row.
__device__ inline int64_t position_of(const CudaRows& rows, int64_t row, int64_t e) {
  return position_at(rows, rows.row[row], e - rows.offset[row]);
}

// Of the in-edge at `position`, in `row`.
__device__ inline double load_weight(const CudaWeights& weights,
                                     const CudaRows& rows,
                                     int64_t row,
                                     int64_t position) {
  const double weight = weights.wide
                            ? __ldg(static_cast<const double*>(weights.data) + position)
                            : double{__ldg(static_cast<const float*>(weights.data) + position)};
  if (is_weight(weight)) return weight;
  record_bad(weights.bad, dst_of(rows.order.dst, row));
  return 0;
}

// q of in-edge e, which is counted from the first row: LABOR's probability of it.
__device__ inline double probability(const CudaImportance& importance, int64_t row, int64_t e) {
  const double p = importance.p[importance.candidate == nullptr ? e : importance.candidate[e]];
  const double scaled = importance.c[row] * p;
  return scaled < 1.0 ? scaled : 1.0;
}

}  // namespace ramet
