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

__device__ float weight_of(double expected_picks) {
  return static_cast<float>(1 / expected_picks);
}

__device__ float weight(const CudaTakeMarkedArgs& args,
                        const CudaImportance& importance,
                        int64_t row,
                        int64_t e) {
  const int64_t degree = args.rows.row[row].degree;
  if (importance.c == nullptr) {
    const bool all = args.fanout < 0 || args.fanout >= degree;
    return weight_of(static_cast<double>(all ? degree : args.fanout));
  }
  const double scaled = importance.c[row] * importance.p[importance.candidate[e]];
  return weight_of(static_cast<double>(degree) * (scaled < 1.0 ? scaled : 1.0));
}

__global__ void take_marks(CudaTakeMarkedArgs args, CudaImportance importance) {
  const int64_t row = row_of_thread(args.rows.offset, args.rows.num_dst);
  const int64_t e = thread_number();
  if (e >= args.num_edges || (args.marks[e / kWarp] >> (e % kWarp) & 1) == 0) return;
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
  launch_each("take_marks", take_marks, args.num_edges, stream, args,
              args.importance != nullptr ? *args.importance : none);
}

}  // namespace ramet
