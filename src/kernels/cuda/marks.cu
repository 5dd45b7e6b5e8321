// From a bit for each in-edge to the edges of a relation: the number of bits before each word, by a
// running sum, makes the place of every marked edge, and the beginning of every row, one access
// (Jacobson: "Space-efficient static trees and graphs", 1989, calls it rank).
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/scan.h"

namespace ramet {
namespace {

// rank[w + 1]: the bits of word w.
__global__ void count_marks(const uint32_t* marks, int64_t num_words, uint32_t* rank) {
  const int64_t word = thread_number();
  if (word == 0) rank[0] = 0;
  if (word < num_words) rank[word + 1] = static_cast<uint32_t>(__popc(marks[word]));
}

// The marks before in-edge e.
__device__ int64_t marks_before(const uint32_t* marks, const uint32_t* rank, int64_t e) {
  const int64_t word = e / kWarp, bit = e % kWarp;
  if (bit == 0) return rank[word];  // there may be no such word
  return rank[word] + static_cast<uint32_t>(__popc(marks[word] & ((1u << bit) - 1)));
}

__global__ void count_rows(CudaRankArgs args) {
  const int64_t i = thread_number();
  if (i <= args.num_dst) args.indptr[i] = marks_before(args.marks, args.rank, args.offset[i]);
}

__device__ bool is_marked(const CudaTakeMarkedArgs& args, int64_t e) {
  return e < args.num_edges && (args.marks[e / kWarp] >> (e % kWarp) & 1) != 0;
}

// q of LABOR-i.
__device__ double probability(const CudaImportance& importance, int64_t row, int64_t e) {
  const double scaled = importance.c[row] * importance.p[importance.candidate[e]];
  return scaled < 1.0 ? scaled : 1.0;
}

// A warp for each row: the sum of 1 / q over its marked edges.
__global__ void sum_rows(CudaTakeMarkedArgs args, CudaImportance importance) {
  const int64_t row = thread_number() / kWarp;
  if (row >= args.rows.num_dst) return;  // the whole warp
  const int64_t end = args.rows.offset[row + 1];
  const double sum = sum_in_order(args.rows.offset[row], end, [&](int64_t e) {
    return e < end && is_marked(args, e) ? 1 / probability(importance, row, e) : 0;
  });
  if (threadIdx.x % kWarp == 0) args.sum[row] = sum;
}

__device__ float weight(const CudaTakeMarkedArgs& args,
                        const CudaImportance& importance,
                        int64_t row,
                        int64_t e) {
  const int64_t degree = args.rows.row[row].degree;
  if (importance.c == nullptr) {
    const bool all = args.fanout < 0 || args.fanout >= degree;
    return static_cast<float>(1 / static_cast<double>(all ? degree : args.fanout));
  }
  const double q = probability(importance, row, e);
  if (args.sum != nullptr) return static_cast<float>(1 / q / args.sum[row]);
  return static_cast<float>(1 / (static_cast<double>(degree) * q));
}

__global__ void take_marks(CudaTakeMarkedArgs args, CudaImportance importance) {
  const int64_t row = row_of_thread(args.rows.offset, args.rows.num_dst);
  const int64_t e = thread_number();
  if (!is_marked(args, e)) return;
  const int64_t pick = marks_before(args.marks, args.rank, e);
  store_position(args.positions, pick, args.rows.row[row].begin + (e - args.rows.offset[row]));
  if (args.weight != nullptr) args.weight[pick] = weight(args, importance, row, e);
}

}  // namespace

void cuda_sampling::rank(int device, const CudaRankArgs& args, void* stream) {
  const DeviceScope scope(device);
  const int64_t num_words = cuda_mark_words(args.num_edges);
  launch_each("count_marks", count_marks, num_words + 1, stream, args.marks, num_words, args.rank);
  running_sum(args.rank + 1, num_words, args.scan, stream);
  launch_each("count_rows", count_rows, args.num_dst + 1, stream, args);
}

void cuda_sampling::take_marked(int device, const CudaTakeMarkedArgs& args, void* stream) {
  const DeviceScope scope(device);
  const CudaImportance none{nullptr, nullptr, nullptr};
  const CudaImportance importance = args.importance != nullptr ? *args.importance : none;
  if (args.sum != nullptr)
    launch_each("sum_rows", sum_rows, args.rows.num_dst * kWarp, stream, args, importance);
  launch_each("take_marks", take_marks, args.num_edges, stream, args, importance);
}

}  // namespace ramet
