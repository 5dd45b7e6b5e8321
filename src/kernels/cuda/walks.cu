// Random walks: a thread for each. A step waits for a row's bounds and then for an edge, so that
// walks enough to hide these waits have to be on their way at once. The rules are the CPU's
// (walk_rules.h).
#include "kernels/cuda/edge_rows.cuh"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/walks.h"

namespace ramet {
namespace {

__device__ int64_t id_of(const CudaWalkEdges& edges, int64_t position) {
  if (position < 0) return -1;
  if (edges.edge_ids == nullptr) return position;
  return EdgeRows::id_in(edges.edge_ids, edges.wide_edge_ids, position);
}

// How many steps the walk has, of which each was written; -1 where something did not fit.
__device__ int64_t walk_from(const CudaWalkArgs& args,
                             const WalkRules& rules,
                             WalkState state,
                             int64_t* nodes,
                             int64_t* edge_ids) {
  if (static_cast<uint64_t>(state.start) >= static_cast<uint64_t>(args.path[0].rows.num_rows))
    return -1;
  nodes[0] = state.start;
  for (int64_t step = 0; step < args.length; ++step) {
    const CudaWalkEdges& edges = args.path[state.place];
    const EdgeRows rows(edges.rows);
    const int64_t position = next_edge(rows, rules, state, rows.row(state.node), step);
    if (rows.is_bad()) return -1;
    if (position == kWalkEnds) return step;
    if (edge_ids != nullptr) edge_ids[step] = id_of(edges, position);
    follow_edge(rows, position, args.path_size, state);
    if (rows.is_bad()) return -1;
    nodes[step + 1] = state.node;
  }
  return args.length;
}

// kBiased: a constant, for plain walks need fewer registers.
template <bool kBiased>
__global__ void walk_each(CudaWalkArgs args) {
  const int64_t walk = thread_number();
  if (walk >= args.count) return;
  int64_t* const nodes = args.nodes + walk * (args.length + 1);
  int64_t* const edge_ids = args.edge_ids == nullptr ? nullptr : args.edge_ids + walk * args.length;
  WalkRules rules = args.rules;
  rules.is_biased = kBiased;
  const WalkState state = begin_walk(args.seed, args.starts[walk], args.numbers[walk]);
  const int64_t steps = walk_from(args, rules, state, nodes, edge_ids);
  if (steps < 0) return record_bad(args.bad, walk);
  for (int64_t step = steps; step < args.length; ++step) {
    nodes[step + 1] = -1;
    if (edge_ids != nullptr) edge_ids[step] = -1;
  }
}

}  // namespace

void walk_cuda(int device, const CudaWalkArgs& args, void* stream) {
  const DeviceScope scope(device);
  if (args.rules.is_biased)
    launch_each("walk_each<biased>", walk_each<true>, args.count, stream, args);
  else
    launch_each("walk_each", walk_each<false>, args.count, stream, args);
}

}  // namespace ramet
