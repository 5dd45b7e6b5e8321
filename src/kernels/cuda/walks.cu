// Random walks: a thread for each. A step waits for a row's bounds and then for an edge, so that
// walks enough to hide these waits have to be on their way at once. The rules are the CPU's
// (walk_rules.h).
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/cuda/walks.h"

namespace ramet {
namespace {

struct WalkRow {
  int64_t begin, degree;
};

// The rows of a step, whose functions do what those of the CPU's WalkRows do, but for errors.
class StepRows {
 public:
  constexpr explicit StepRows(const CudaWalkEdges& edges) : edges_(edges) {}

  constexpr bool has_sums() const { return edges_.sums != nullptr; }
  constexpr double sum(int64_t position) const { return edges_.sums[position]; }
  constexpr bool has_times() const { return edges_.times != nullptr; }
  constexpr int64_t time(int64_t position) const { return edges_.times[position]; }

  constexpr WalkRow row(int64_t node) const {
    const int64_t begin = edges_.edges.indptr[node], end = edges_.edges.indptr[node + 1];
    const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(edges_.edges.num_edges) &&
                      static_cast<uint64_t>(begin) <= static_cast<uint64_t>(end);
    is_bad_ |= !fits;
    return fits ? WalkRow{begin, end - begin} : WalkRow{0, 0};
  }
  constexpr int64_t entry(int64_t position) const {
    return id_in(edges_.edges.indices, edges_.edges.wide_ids, position);
  }
  constexpr int64_t end_of(int64_t position) const {
    const int64_t end = entry(position);
    is_bad_ |= static_cast<uint64_t>(end) >= static_cast<uint64_t>(edges_.edges.num_src_nodes);
    return end;
  }
  constexpr int64_t id_of(int64_t position) const {
    if (position < 0) return -1;
    if (edges_.edge_ids == nullptr) return position;
    return id_in(edges_.edge_ids, edges_.wide_edge_ids, position);
  }
  // Something did not fit.
  constexpr bool is_bad() const { return is_bad_; }

 private:
  static constexpr int64_t id_in(const void* ids, bool wide, int64_t i) {
    return wide ? static_cast<const int64_t*>(ids)[i] : static_cast<const int32_t*>(ids)[i];
  }

  const CudaWalkEdges& edges_;
  mutable bool is_bad_ = false;
};

// How many steps the walk has, of which each was written; -1 where something did not fit.
__device__ int64_t walk_from(const CudaWalkArgs& args,
                             const WalkRules& rules,
                             WalkState state,
                             int64_t* nodes,
                             int64_t* edge_ids) {
  if (static_cast<uint64_t>(state.start) >= static_cast<uint64_t>(args.path[0].num_rows)) return -1;
  nodes[0] = state.start;
  for (int64_t step = 0; step < args.length; ++step) {
    const StepRows rows(args.path[state.place]);
    const int64_t position = next_edge(rows, rules, state, rows.row(state.node), step);
    if (rows.is_bad()) return -1;
    if (position == kWalkEnds) return step;
    if (edge_ids != nullptr) edge_ids[step] = rows.id_of(position);
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
