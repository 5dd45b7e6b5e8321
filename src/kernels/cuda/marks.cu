// From a bit for each in-edge to the edges of a relation: the number of bits before each block of
// them, by a running sum, makes the position of every marked edge, and the beginning of every row,
// one access (Jacobson: "Space-efficient static trees and graphs", 1989, calls it rank): the bits
// of a block are one sector of memory.
#include "base/fanout.h"
#include "kernels/cuda/row_sums.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

// The bits of a block before `bit`.
__device__ int marks_in(const uint32_t* words, unsigned bit) {
  int count = 0;
  for (unsigned word = 0; word < bit / 32; ++word)
    count += __popc(words[word]);
  return bit % 32 == 0 ? count : count + __popc(words[bit / 32] & ((1u << (bit % 32)) - 1));
}

__device__ const uint32_t* words_of(const uint32_t* marks, int64_t block) {
  return marks + block * (kCudaItems / 32);
}

// rank[b + 1]: the bits of block b.
__global__ void count_marks(const uint32_t* marks, int64_t num_blocks, int64_t* rank) {
  const int64_t block = thread_number();
  if (block == 0) rank[0] = 0;
  if (block < num_blocks) rank[block + 1] = marks_in(words_of(marks, block), kCudaItems);
}

// The marks before in-edge e.
__device__ int64_t marks_before(const uint32_t* marks, const int64_t* rank, int64_t e) {
  const int64_t block = e / kCudaItems;
  const auto bit = static_cast<unsigned>(e % kCudaItems);
  if (bit == 0) return rank[block];  // there may be no such block
  return rank[block] + marks_in(words_of(marks, block), bit);
}

__global__ void count_rows(CudaRankArgs args) {
  const int64_t i = thread_number();
  if (i > args.num_dst) return;
  args.marks_before[i] = marks_before(args.marks, args.rank, args.offset[i]);
}

__device__ bool is_marked(const CudaTakeMarkedArgs& args, int64_t e) {
  return e < args.num_edges && (args.marks[e / kWarp] >> (e % kWarp) & 1) != 0;
}

__device__ float weight(const CudaTakeMarkedArgs& args, int64_t row, int64_t e) {
  const CudaImportance& importance = args.importance;
  const int64_t degree = args.rows.row[row].degree;
  if (importance.p == nullptr) {
    return static_cast<float>(
        1 / static_cast<double>(takes_all(args.fanout, degree) ? degree : args.fanout));
  }
  const double q = probability(importance, row, e);
  if (importance.share != nullptr) return static_cast<float>(importance.share[e] / q);
  return static_cast<float>(1 / (static_cast<double>(degree) * q));
}

__global__ void take_marks(CudaTakeMarkedArgs args) {
  const int64_t e = thread_number();
  if (!is_marked(args, e)) return;
  const int64_t row = row_of(args.rows.offset, args.rows.first_row, e);
  const int64_t pick = output_index(args.rows.order, row, marks_before(args.marks, args.rank, e));
  store_position(args.positions, pick, position_of(args.rows, row, e));
  if (args.term != nullptr) {
    const double share = args.importance.share == nullptr ? 1 : args.importance.share[e];
    args.term[pick] = share / probability(args.importance, row, e);
  } else if (args.weight != nullptr) {
    args.weight[pick] = weight(args, row, e);
  }
}

// The terms of a destination's picks, 1 / q or share / q, divided by their sum.
__global__ void __launch_bounds__(BlockTeam::kSize) normalize_weights(CudaTakeMarkedArgs args) {
  __shared__ RowSumMemory shared;
  RowSumMemory& memory = shared;
  for_each_row(args.indptr, args.rows.num_dst, [&](int64_t row, const auto& team) {
    const int64_t begin = args.indptr[row], end = args.indptr[row + 1];
    const double sum =
        sum_row(memory, team, begin, end, [&](int64_t e) { return Term{args.term[e], false}; }).sum;
    for (int64_t e = begin + team.thread(); e < end; e += team.kSize)
      args.weight[e] = static_cast<float>(args.term[e] / sum);
  });
}

}  // namespace

void cuda_sampling::rank(int device, const CudaRankArgs& args, void* stream) {
  const DeviceScope scope(device);
  const int64_t num_blocks = cuda_mark_blocks(args.num_edges);
  launch_each("count_marks", count_marks, num_blocks + 1, stream, args.marks, num_blocks,
              args.rank);
  running_sum(args.rank + 1, num_blocks, args.scan, stream);
  launch_each("count_rows", count_rows, args.num_dst + 1, stream, args);
}

void cuda_sampling::take_marked(int device, const CudaTakeMarkedArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("take_marks", take_marks, args.num_edges, stream, args);
  if (args.term != nullptr)
    launch_rows("normalize_weights", normalize_weights, args.rows.num_dst, stream, args);
}

}  // namespace ramet
