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

bool looks_at_edges(const SampleOptions& options, int64_t fanout) {
  return options.sampler == Sampler::kLabor || (!options.replace && fanout > kCudaFewPicks);
}

CudaRelationBuilder::CudaRelationBuilder(const CudaWork& work,
                                         const CudaGraph& graph,
                                         size_t edge_type,
                                         CudaBad bad)
    : work_(work),
      edges_(graph.graph()->edge_types()[edge_type]),
      edge_type_(static_cast<int>(edge_type)),
      csc_(csc_of(graph, edge_type)),
      bad_(bad) {}

void CudaRelationBuilder::start(const SampleOptions& options,
                                int64_t fanout,
                                const CudaNodes& destinations,
                                CudaRelationScratch& scratch) {
  fanout_ = fanout;
  num_dst_ = destinations.size();
  destinations_ = &destinations;
  is_marked_ = !is_empty() && looks_at_edges(options, fanout);
  num_counted_ = num_edges_ = 0;
  relation_ = {};
  relation_.edge_type = edge_type_;
  relation_.indptr = work_.allocate(DType::kInt64, num_dst_ + 1);
  offset_ = is_marked_ ? in_edge_offset_.reserve(work_, num_dst_ + 1) : indptr();
  if (is_empty()) return work_.fill(indptr(), 0, relation_.indptr.bytes());
  work_.kernels.rows(work_.device,
                     {.edges = csc_,
                      .nodes = destinations.ids(),
                      .num_dst = num_dst_,
                      .fanout = is_marked_ ? kAllNeighbors : fanout,
                      .replace = options.replace,
                      .row = row_.reserve(work_, num_dst_),
                      .offset = offset_,
                      .bad = bad_.row,
                      .scan = scratch.sums.reserve(work_, num_dst_)},
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
                       .c = c_.reserve(work_, num_dst_),
                       .largest = largest},
                      work_.stream);
}

void CudaRelationBuilder::mark(const SampleOptions& options,
                               const CudaDraws& draws,
                               const double* p,
                               CudaRelationScratch& scratch) {
  const int64_t num_words = cuda_mark_words(num_counted_);
  const CudaMarkArgs args{rows(), num_counted_, fanout_, draws, marks_.reserve(work_, num_words)};
  if (options.sampler == Sampler::kLabor) {
    const CudaImportance importance{p, candidate_.data(), c_.data()};
    work_.kernels.mark_labor(work_.device,
                             {.mark = args,
                              .edges = csc_,
                              .threshold = threshold_.reserve(work_, num_dst_),
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
                      .num_dst = num_dst_,
                      .indptr = indptr(),
                      .scan = scratch.sums.reserve(work_, num_words)},
                     work_.stream);
}

void CudaRelationBuilder::take_marked(const SampleOptions& options, const double* p) {
  float* weight = nullptr;
  const bool normalized = options.weights == Weights::kNormalized;
  if (options.sampler == Sampler::kLabor && (p != nullptr || !normalized)) {
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
       .sum = p != nullptr && normalized ? sum_.reserve(work_, num_dst_) : nullptr},
      work_.stream);
}

void CudaRelationBuilder::take(const SampleOptions& options,
                               const CudaDraws& draws,
                               const double* p,
                               CudaNodes& sources,
                               CudaRelationScratch& scratch) {
  relation_.position = work_.allocate(is_wide(edges_) ? DType::kInt64 : DType::kInt32, num_edges_);
  relation_.indices = work_.allocate(DType::kInt32, num_edges_);
  if (num_edges_ == 0) return;
  positions_ = {relation_.position.data, is_wide(edges_)};
  if (is_marked_) {
    take_marked(options, p);
  } else {
    work_.kernels.pick(work_.device,
                       {.rows = rows(),
                        .num_picks = num_edges_,
                        .fanout = fanout_,
                        .replace = options.replace,
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

void CudaRelationBuilder::refuse_row(int64_t row) const {
  const int64_t node = work_.read(destinations_->ids() + row);
  const int64_t begin = work_.read(csc_.indptr + node);
  const int64_t end = work_.read(csc_.indptr + node + 1);
  ramet::refuse_row(edges_, node, begin, end);
}

void CudaRelationBuilder::refuse_pick(int64_t pick) const {
  const auto read_id = [&](const void* ids, bool wide, int64_t i) -> int64_t {
    if (wide) return work_.read(static_cast<const int64_t*>(ids) + i);
    return work_.read(static_cast<const int32_t*>(ids) + i);
  };
  const int64_t position = read_id(positions_.data, positions_.wide, pick);
  const int64_t id = read_id(csc_.indices, csc_.wide_ids, position);
  refuse_source(edges_, position, id, csc_.num_src_nodes);
}

void CudaRelationBuilder::refuse_candidate(int64_t edge, CudaRelationScratch& scratch) {
  take_all(scratch);  // others have used the memory since
  refuse_pick(edge);
}

void CudaRelationBuilder::refuse_count() const {
  if (!is_marked_) refuse_picks(edges_, fanout_, num_dst_, kCudaMaxEdges);
  throw Error(ErrorCode::kInvalidArgument,
              std::to_string(num_dst_) + " destinations of edge type '" + edges_.encoded +
                  "' have more than " + std::to_string(kCudaMaxEdges) +
                  " in-edges, all of which sampling looks at; use a smaller batch_size");
}

}  // namespace ramet
