// Exact negatives by rejection, as the CPU draws them (negatives.cc): a thread for each negative. A
// candidate is drawn, and drawn again while a bisection of its row finds that it makes an edge.
// Where all draws are rejected, few candidates are enumerated: one pass counts what remains, and
// one finds the drawn one.
#include <limits>

#include "kernels/cuda/edge_rows.cuh"
#include "kernels/cuda/negatives.h"
#include "kernels/cuda/sampling_device.cuh"
#include "kernels/pair_rules.h"

namespace ramet {
namespace {

struct Draw {
  int64_t source, destination, time;
  uint64_t key;
  bool at_source;
  bool exact;           // whether it is rejected if it makes an edge or a loop
  EdgeRow past{0, 0};   // whose entries are the candidates; without any, all nodes are
  bool is_bad = false;  // something does not fit
};

__device__ const CudaCandidates& candidates_of(const CudaNegativesArgs& args, const Draw& draw) {
  return draw.at_source ? args.of_sources : args.of_destinations;
}

__device__ int64_t& candidate(Draw& draw) {
  return draw.at_source ? draw.source : draw.destination;
}

// The row of the pair, in which the other node is looked for.
__device__ EdgeRow row_for(const CudaPairRows& edges, const EdgeRows& rows, const Draw& draw) {
  return rows.row(edges.by_source ? draw.source : draw.destination);
}

__device__ int64_t num_candidates(const CudaCandidates& all, const Draw& draw) {
  if (draw.past.degree > 0) return draw.past.degree;
  return all.among == nullptr ? all.num_nodes : all.num_among;
}

__device__ void choose(const CudaCandidates& all, Draw& draw, int64_t number) {
  int64_t node = number;
  if (draw.past.degree > 0)
    node = EdgeRows(all.past->rows).entry(draw.past.begin + number);
  else if (all.among != nullptr)
    node = all.among[number];
  const bool fits = static_cast<uint64_t>(node) < static_cast<uint64_t>(all.num_nodes);
  draw.is_bad |= !fits;
  candidate(draw) = fits ? node : 0;
}

__device__ bool is_rejected(const CudaNegativesArgs& args, Draw& draw) {
  const CudaCandidates& all = candidates_of(args, draw);
  if (all.created != nullptr && all.created[candidate(draw)] > draw.time) return true;
  if (!draw.exact) return false;
  if (!args.loops && draw.source == draw.destination) return true;
  for (int64_t i = 0; i < args.num_edges; ++i) {
    const CudaPairRows& edges = args.edges[i];
    const EdgeRows rows(edges.rows);
    const int64_t wanted = edges.by_source ? draw.destination : draw.source;
    if (has_edge(rows, row_for(edges, rows, draw), wanted, draw.time, draw.past.degree > 0))
      return true;
    draw.is_bad |= rows.is_bad();
  }
  return false;
}

// Of candidates that weigh the same; whether there is any.
__device__ bool enumerate(const CudaNegativesArgs& args, Draw& draw, int64_t count) {
  const CudaCandidates& all = candidates_of(args, draw);
  const auto remains = [&](int64_t i) {
    choose(all, draw, i);
    return !is_rejected(args, draw);
  };
  uint64_t left = 0;
  for (int64_t i = 0; i < count; ++i)
    left += remains(i) ? 1 : 0;
  if (left == 0) return false;
  uint64_t before = uniform_below(absorb(draw.key, kNegativeTries), left);
  for (int64_t i = 0; i < count; ++i)
    if (remains(i) && before-- == 0) return true;
  return false;
}

// Leaves the candidate in `draw`; false where it is undecided.
__device__ bool is_drawn(const CudaNegativesArgs& args, Draw& draw) {
  const CudaCandidates& all = candidates_of(args, draw);
  for (;; draw.past = {0, 0}) {
    const int64_t count = num_candidates(all, draw);
    if (count <= 0) return false;
    for (uint64_t tries = 0; tries < kNegativeTries && !draw.is_bad; ++tries) {
      const uint64_t word = absorb(draw.key, tries);
      choose(all, draw,
             all.weight_sums != nullptr
                 ? candidate_by_sums(all.weight_sums, count, word)
                 : static_cast<int64_t>(uniform_below(word, static_cast<uint64_t>(count))));
      if (!is_rejected(args, draw)) return !draw.is_bad;
    }
    if (draw.is_bad || all.weight_sums != nullptr || count > kFewCandidates) return false;
    if (enumerate(args, draw, count)) return !draw.is_bad;
    if (draw.is_bad || draw.past.degree == 0) return false;
  }
}

// Of a node that was drawn before, or the pair's own.
__device__ Draw begin_draw(const CudaNegativesArgs& args,
                           int64_t pair,
                           int64_t number,
                           int64_t source) {
  const bool is_pair = args.draws_each == 2, at_source = args.at_source[number % 2];
  Draw draw{.source = source,
            .destination = args.destinations[pair],
            .time = args.times == nullptr ? std::numeric_limits<int64_t>::max() : args.times[pair],
            .key = absorb(absorb(args.key, static_cast<uint64_t>(args.ids[pair])),
                          static_cast<uint64_t>(number)),
            .at_source = at_source,
            .exact = !is_pair || !at_source};
  const auto is_node = [](int64_t node, const CudaCandidates& of) {
    return static_cast<uint64_t>(node) < static_cast<uint64_t>(of.num_nodes);
  };
  draw.is_bad =
      !is_node(source, args.of_sources) || !is_node(draw.destination, args.of_destinations);
  const CudaPairRows* past = candidates_of(args, draw).past;
  if (past == nullptr || draw.is_bad) return draw;
  const EdgeRows rows(past->rows);
  draw.past = row_before(rows, row_for(*past, rows, draw), draw.time);
  draw.is_bad = rows.is_bad();
  return draw;
}

__global__ void draw_each(CudaNegativesArgs args) {
  const int64_t i = thread_number();
  const int64_t of_pair = args.amount / args.draws_each;
  if (i >= args.num_pairs * of_pair) return;
  const int64_t pair = i / of_pair, first = i % of_pair * args.draws_each;
  int64_t* const out = args.out + pair * args.amount + first;
  int64_t source = args.sources[pair];
  for (int64_t d = 0; d < args.draws_each; ++d) {
    Draw draw = begin_draw(args, pair, first + d, source);
    out[d] = !draw.is_bad && is_drawn(args, draw) ? candidate(draw) : kUndecided;
    source = args.draws_each == 2 ? out[d] : source;
  }
}

}  // namespace

void draw_negatives_cuda(int device, const CudaNegativesArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("draw_negatives", draw_each, args.num_pairs * (args.amount / args.draws_each), stream,
              args);
}

}  // namespace ramet
