// The in-edges that LABOR accepts: those whose source's word is at most the row's threshold;
// docs/semantics.md, section 8. A thread for each in-edge, whatever row it is in, so that a hub is
// the work of many blocks; a warp's answers are a word of marks.
#include "base/fanout.h"
#include "kernels/cuda/mark_edges.cuh"
#include "kernels/cuda/sampling.h"

namespace ramet {
namespace {

__global__ void set_thresholds(CudaMarkArgs args, uint64_t* threshold) {
  const int64_t i = thread_number();
  if (i >= args.rows.num_dst) return;
  const int64_t degree = args.rows.row[i].degree;
  threshold[i] = takes_all(args.fanout, degree) ? ~uint64_t{0} : threshold_of(args.fanout, degree);
}

__device__ uint64_t word_of_source(const CudaMarkArgs& args,
                                   const CudaCsc& edges,
                                   const InEdge& e) {
  // An id that is no node has a word, too, as wide as it is stored.
  const int64_t id = load_source_id(edges, e.position);
  const uint64_t source = edges.wide_ids ? static_cast<uint64_t>(id) : static_cast<uint32_t>(id);
  return draw(args.draws.keys, args.draws.tables, source);
}

__global__ void mark_below_threshold(CudaMarkArgs args, CudaCsc edges, const uint64_t* threshold) {
  mark_accepted(args, [&](const InEdge& e) {
    const uint64_t bound = threshold[e.row];
    return bound == ~uint64_t{0} || word_of_source(args, edges, e) <= bound;
  });
}

__global__ void mark_by_importance(CudaMarkArgs args, CudaCsc edges, CudaImportance importance) {
  mark_accepted(args, [&](const InEdge& e) {
    const double q = probability(importance, e.row, e.number);
    return q == 1 || word_of_source(args, edges, e) <= static_cast<uint64_t>(q * 0x1p64);
  });
}

}  // namespace

void cuda_sampling::mark_labor(int device, const CudaMarkLaborArgs& args, void* stream) {
  const DeviceScope scope(device);
  const CudaMarkArgs& mark = args.mark;
  if (args.importance.p != nullptr) {
    launch_each("mark_by_importance", mark_by_importance, mark.num_edges, stream, mark, args.edges,
                args.importance);
  } else {
    launch_each("set_thresholds", set_thresholds, mark.rows.num_dst, stream, mark, args.threshold);
    launch_each("mark_below_threshold", mark_below_threshold, mark.num_edges, stream, mark,
                args.edges, args.threshold);
  }
}

}  // namespace ramet
