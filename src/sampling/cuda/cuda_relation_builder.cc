#include "cuda_relation_builder.h"

#include <limits>
#include <string>

#include "ramet/error.h"
#include "sampling/relation_builder.h"
#include "sampling/rows.h"

namespace ramet {
namespace {

CudaCsc csc_of(const CudaGraph& graph, size_t edge_type) {
  const EdgeType& edges = graph.graph()->edge_types()[edge_type];
  const auto& source = graph.graph()->node_types()[static_cast<size_t>(edges.src)];
  return {.indptr = graph.indptr(edge_type),
          .indices = graph.indices(edge_type),
          .wide_ids = edges.indices.dtype == DType::kInt64,
          .num_edges = edges.num_edges(),
          .num_src_nodes = source.num_nodes};
}

bool is_wide(const EdgeType& edges) {
  return edges.num_edges() > std::numeric_limits<int32_t>::max();
}

}  // namespace

CudaRelationBuilder::CudaRelationBuilder(const CudaWork& work,
                                         const CudaGraph& graph,
                                         const Method& method,
                                         size_t edge_type,
                                         CudaBad bad)
    : work_(work),
      edges_(graph.graph()->edge_types()[edge_type]),
      edge_type_(static_cast<int>(edge_type)),
      method_(method),
      csc_(csc_of(graph, edge_type)),
      bad_(bad) {}

bool CudaRelationBuilder::replaces() const {
  const auto* uniform = std::get_if<Uniform>(&method_);
  return uniform != nullptr && uniform->replace;
}

// In-edges are looked at one by one by LABOR, and by Floyd's algorithm for many picks.
bool CudaRelationBuilder::looks_at_edges() const {
  return std::holds_alternative<Labor>(method_) || (!replaces() && fanout_ > kCudaFewPicks);
}

void CudaRelationBuilder::start(int64_t fanout,
                                const CudaNodes& nodes,
                                ListRange destinations,
                                CudaRelationScratch& scratch) {
  fanout_ = fanout;
  nodes_ = &nodes;
  destinations_ = destinations;
  is_marked_ = !is_empty() && looks_at_edges();
  num_counted_ = num_edges_ = 0;
  relation_ = {};
  relation_.edge_type = edge_type_;
  relation_.indptr = work_.allocate(DType::kInt64, num_dst() + 1);
  offset_ = is_marked_ ? in_edge_offset_.reserve(work_, num_dst() + 1) : indptr();
  if (is_empty()) return work_.fill(indptr(), 0, relation_.indptr.bytes());
  work_.kernels.rows(work_.device,
                     {.edges = csc_,
                      .nodes = dst_nodes(),
                      .num_dst = num_dst(),
                      .fanout = is_marked_ ? kAllNeighbors : fanout,
                      .replace = replaces(),
                      .row = row_.reserve(work_, num_dst()),
                      .offset = offset_,
                      .bad = bad_.row,
                      .scan = scratch.sums.reserve(work_, num_dst())},
                     work_.stream);
}

// The positions of all in-edges.
void CudaRelationBuilder::take_all(CudaRelationScratch& scratch) {
  positions_ = {scratch.positions.reserve(work_, num_counted_), is_wide(edges_)};
  work_.kernels.pick(work_.device,
                     {.rows = rows(),
                      .num_picks = num_counted_,
                      .fanout = kAllNeighbors,
                      .replace = false,
                      .draws = {},
                      .positions = positions_},
                     work_.stream);
}

void CudaRelationBuilder::add_candidates(CudaNodes& candidates, CudaRelationScratch& scratch) {
  take_all(scratch);
  number(candidates, num_counted_, candidate_.reserve(work_, num_counted_), scratch);
}

void CudaRelationBuilder::solve(const double* p, double* largest) {
  work_.kernels.solve(work_.device,
                      {.rows = rows(),
                       .num_edges = num_counted_,
                       .fanout = fanout_,
                       .p = p,
                       .candidate = candidate_.data(),
                       .c = c_.reserve(work_, num_dst()),
                       .largest = largest},
                      work_.stream);
}

void CudaRelationBuilder::mark(const CudaDraws& draws,
                               const double* p,
                               CudaRelationScratch& scratch) {
  const int64_t num_words = cuda_mark_words(num_counted_);
  const CudaMarkArgs args{rows(), num_counted_, fanout_, draws, marks_.reserve(work_, num_words)};
  if (std::holds_alternative<Labor>(method_)) {
    const CudaImportance importance{p, candidate_.data(), c_.data()};
    work_.kernels.mark_labor(work_.device,
                             {.mark = args,
                              .edges = csc_,
                              .threshold = threshold_.reserve(work_, num_dst()),
                              .importance = p != nullptr ? &importance : nullptr},
                             work_.stream);
  } else {
    work_.fill(args.marks, 0, num_words * int64_t{sizeof(uint32_t)});
    work_.kernels.mark_floyd(work_.device, args, work_.stream);
  }
  work_.kernels.rank(work_.device,
                     {.marks = args.marks,
                      .num_edges = num_counted_,
                      .rank = rank_.reserve(work_, num_words + 1),
                      .offset = offset_,
                      .num_dst = num_dst(),
                      .indptr = indptr(),
                      .scan = scratch.sums.reserve(work_, num_words)},
                     work_.stream);
}

void CudaRelationBuilder::take_marked(const Labor* labor, const double* p) {
  float* weight = nullptr;
  const bool normalized = labor == nullptr || labor->weights == Weights::kNormalized;
  if (p != nullptr || !normalized) {
    relation_.edge_weight = work_.allocate(DType::kFloat32, num_edges_);
    weight = static_cast<float*>(relation_.edge_weight.data);
  }
  const CudaImportance importance{p, candidate_.data(), c_.data()};
  work_.kernels.take_marked(
      work_.device,
      {.rows = rows(),
       .num_edges = num_counted_,
       .marks = marks_.data(),
       .rank = rank_.data(),
       .positions = positions_,
       .weight = weight,
       .fanout = fanout_,
       .importance = p != nullptr ? &importance : nullptr,
       .sum = p != nullptr && normalized ? sum_.reserve(work_, num_dst()) : nullptr},
      work_.stream);
}

void CudaRelationBuilder::take(const CudaDraws& draws,
                               const double* p,
                               CudaNodes& sources,
                               CudaRelationScratch& scratch) {
  relation_.position = work_.allocate(is_wide(edges_) ? DType::kInt64 : DType::kInt32, num_edges_);
  relation_.indices = work_.allocate(DType::kInt32, num_edges_);
  if (num_edges_ == 0) return;
  positions_ = {relation_.position.data, is_wide(edges_)};
  if (is_marked_) {
    take_marked(std::get_if<Labor>(&method_), p);
  } else {
    work_.kernels.pick(work_.device,
                       {.rows = rows(),
                        .num_picks = num_edges_,
                        .fanout = fanout_,
                        .replace = replaces(),
                        .draws = draws,
                        .positions = positions_},
                       work_.stream);
  }
  number(sources, num_edges_, static_cast<int32_t*>(relation_.indices.data), scratch);
}

void CudaRelationBuilder::number(CudaNodes& sources,
                                 int64_t count,
                                 int32_t* local,
                                 CudaRelationScratch& scratch) {
  if (count == 0) return;
  int64_t* ids = scratch.sources.reserve(work_, count);
  work_.kernels.load(work_.device,
                     {.edges = csc_,
                      .positions = positions_,
                      .num_picks = count,
                      .sources = ids,
                      .slots = sources.slots(),
                      .bad = bad_.pick},
                     work_.stream);
  sources.number({ids, count}, local, scratch.sums);
}

void CudaRelationBuilder::throw_bad_row(int64_t row) const {
  const int64_t node = work_.read(dst_nodes() + row);
  const int64_t begin = work_.read(csc_.indptr + node);
  const int64_t end = work_.read(csc_.indptr + node + 1);
  ramet::throw_bad_row(edges_, node, begin, end);
}

void CudaRelationBuilder::throw_bad_pick(int64_t pick) const {
  const auto read_id = [&](const void* ids, bool wide, int64_t i) -> int64_t {
    if (wide) return work_.read(static_cast<const int64_t*>(ids) + i);
    return work_.read(static_cast<const int32_t*>(ids) + i);
  };
  const int64_t position = read_id(positions_.data, positions_.wide, pick);
  const int64_t id = read_id(csc_.indices, csc_.wide_ids, position);
  throw_bad_source(edges_, position, id, csc_.num_src_nodes);
}

void CudaRelationBuilder::throw_bad_candidate(int64_t edge, CudaRelationScratch& scratch) {
  take_all(scratch);  // others have used the memory since
  throw_bad_pick(edge);
}

void CudaRelationBuilder::throw_too_many_edges() const {
  if (!is_marked_) throw_too_many_picks(edges_, fanout_, num_dst(), kCudaMaxEdges);
  throw_invalid(num_dst(), " destinations of edge type '", edges_.encoded, "' have more than ",
                kCudaMaxEdges,
                " in-edges, all of which sampling looks at; use a smaller batch_size");
}

}  // namespace ramet
