// Positions of a row's picks, docs/semantics.md, section 3: Floyd's algorithm (Bentley, Floyd: "A
// sample of brilliance", CACM 1987) where they are few, by a thread for each row, that keeps them
// sorted as they come; floyd_block.cuh has the one for more. Where every edge is picked, or picks
// may repeat, evenly or by weights, they do not depend on each other: a thread for each; repeated
// ones are sorted afterwards.
#include "kernels/cuda/floyd_block.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/sort_block.cuh"

namespace ramet {
namespace {

__device__ bool contains(const int64_t* picked, int64_t size, int64_t x) {
  bool found = false;
  for (int64_t s = 0; s < size; ++s)
    found |= picked[s] == x;
  return found;
}

__device__ void insert_sorted(int64_t* picked, int64_t size, int64_t x) {
  for (; size > 0 && picked[size - 1] > x; --size)
    picked[size] = picked[size - 1];
  picked[size] = x;
}

// k < degree positions, ascending.
__device__ void floyd(
    const DrawKeys& keys, const NormalTables& tables, int64_t k, int64_t degree, int64_t* picked) {
  for (int64_t t = 0; t < k; ++t) {
    const int64_t j = degree - k + t;
    const int64_t x = draw_below(keys, tables, t, j + 1);
    insert_sorted(picked, t, contains(picked, t, x) ? j : x);
  }
}

__global__ void pick_few(CudaPickArgs args) {
  const int64_t i = thread_number();
  if (i >= args.rows.num_dst) return;
  const CudaRow row = args.rows.row[i];
  const int64_t first = output_index(args.rows.order, i, args.rows.offset[i]);
  int64_t picked[kCudaFewPicks];
  const bool all = row.degree <= args.fanout;
  if (!all) {
    const DrawKeys keys = node_keys(args.draws.keys, args.rows.nodes[i]);
    floyd(keys, args.draws.tables, args.fanout, row.degree, picked);
  }
  const int64_t count = all ? row.degree : args.fanout;
  for (int64_t t = 0; t < count; ++t)
    store_position(args.positions, first + t, position_at(args.rows, row, all ? t : picked[t]));
}

// A block of kBlock threads for each row.
template <int kMost, int kBlock>
__global__ void __launch_bounds__(kBlock) pick_some(CudaPickArgs args) {
  const int64_t i = blockIdx.x;
  const CudaRow row = args.rows.row[i];
  const int64_t first = output_index(args.rows.order, i, args.rows.offset[i]);
  const auto store = [&](int64_t t, int64_t x) {
    store_position(args.positions, first + t, position_at(args.rows, row, x));
  };
  if (row.degree <= args.fanout) {
    for (int64_t t = threadIdx.x; t < row.degree; t += kBlock)
      store(t, t);
    return;
  }
  __shared__ FloydMemory<kMost> memory;
  const DrawKeys keys = node_keys(args.draws.keys, args.rows.nodes[i]);
  pick_by_floyd<kBlock>(
      memory, static_cast<int>(args.fanout), row.degree,
      [&](int64_t t, int64_t n) { return draw_below(keys, args.draws.tables, t, n); }, store);
}

__global__ void pick_all(CudaPickArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_picks) return;
  const int64_t i = row_of(args.rows.offset, args.rows.first_row, e);
  store_position(args.positions, output_index(args.rows.order, i, e), position_of(args.rows, i, e));
}

// The first of the ascending `sums` of a row that exceeds a fraction of the last one.
__device__ int64_t draw_by_weights(const CudaPickArgs& args,
                                   const DrawKeys& keys,
                                   int64_t row,
                                   int64_t t) {
  const double* sums = args.sums + args.sums_before[row];
  int64_t low = 0, high = args.rows.row[row].degree - 1;
  const uint64_t word = draw(keys, args.draws.tables, static_cast<uint64_t>(t));
  const double value = fraction_lanes<Scalar>(word) * sums[high];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sums[middle] > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

__global__ void pick_repeatedly(CudaPickArgs args) {
  const int64_t e = thread_number();
  if (e >= args.num_picks) return;
  const int64_t i = row_of(args.rows.offset, args.rows.first_row, e);
  const CudaRow row = args.rows.row[i];
  const DrawKeys keys = node_keys(args.draws.keys, args.rows.nodes[i]);
  const int64_t t = e - args.rows.offset[i];
  const int64_t x = args.sums != nullptr ? draw_by_weights(args, keys, i, t)
                                         : draw_below(keys, args.draws.tables, t, row.degree);
  store_position(args.positions, output_index(args.rows.order, i, e),
                 position_at(args.rows, row, x));
}

// A block for each destination.
template <typename Position>
__global__ void sort_rows(const int64_t* indptr, Position* positions) {
  const int64_t first = indptr[blockIdx.x];
  sort_by_block(positions + first, indptr[blockIdx.x + 1] - first);
}

template <typename Position>
void sort_each_row(const CudaPickArgs& args, void* stream) {
  const unsigned threads = args.fanout <= 2 * kWarp ? kWarp : kThreads;
  const CudaRows& rows = args.rows;
  launch("sort_rows", sort_rows<Position>, dim3(static_cast<unsigned>(rows.num_dst)), dim3(threads),
         static_cast<cudaStream_t>(stream),
         rows.order.dst == nullptr ? rows.offset : rows.order.indptr,
         static_cast<Position*>(args.positions.data));
}

template <int kMost, int kBlock>
void launch_pick_some(const CudaPickArgs& args, void* stream) {
  launch("pick_some", pick_some<kMost, kBlock>, dim3(static_cast<unsigned>(args.rows.num_dst)),
         dim3(kBlock), static_cast<cudaStream_t>(stream), args);
}

void pick_without_replacement(const CudaPickArgs& args, void* stream) {
  if (args.fanout <= kCudaFewPicks)
    return launch_each("pick_few", pick_few, args.rows.num_dst, stream, args);
  if (args.fanout <= 64) return launch_pick_some<64, 32>(args, stream);
  if (args.fanout <= 256) return launch_pick_some<256, 128>(args, stream);
  launch_pick_some<kCudaSomePicks, 256>(args, stream);
}

}  // namespace

void cuda_sampling::pick(int device, const CudaPickArgs& args, void* stream) {
  const DeviceScope scope(device);
  if (args.num_picks == 0) return;
  if (args.fanout < 0) {
    launch_each("pick_all", pick_all, args.num_picks, stream, args);
  } else if (!args.replace) {
    pick_without_replacement(args, stream);
  } else {
    launch_each("pick_repeatedly", pick_repeatedly, args.num_picks, stream, args);
    if (args.tries.weights.data != nullptr) store_tries_over(args.tries, args.positions, stream);
    if (args.positions.wide) {
      sort_each_row<int64_t>(args, stream);
    } else {
      sort_each_row<int32_t>(args, stream);
    }
  }
}

}  // namespace ramet
