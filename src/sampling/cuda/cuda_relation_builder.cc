#include "cuda_relation_builder.h"

#include <algorithm>
#include <limits>
#include <string>

#include "sampling/relation_builder.h"

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

// Without data for methods without weights, and edge types that nobody samples.
CudaWeights weights_of(const CudaGraph& graph,
                       const SampleOptions& options,
                       size_t edge_type,
                       const CudaBad& bad) {
  const std::string name = weight_table(options.method);
  if (name.empty()) return {};
  const auto& tables = graph.graph()->edge_types()[edge_type].tables;
  const auto found = tables.find(name);
  if (found == tables.end()) return {};
  return {graph.edge_table(edge_type, name), found->second.dtype == DType::kFloat64, bad.row};
}

int64_t bytes_of(const EdgeType& edges) {
  return edges.indptr.bytes() + edges.indices.bytes();
}

bool is_wide(const EdgeType& edges) {
  return edges.num_edges() > std::numeric_limits<int32_t>::max();
}

}  // namespace

CudaRelationBuilder::CudaRelationBuilder(const CudaWork& work,
                                         const CudaGraph& graph,
                                         const SampleOptions& options,
                                         size_t edge_type,
                                         CudaBad bad,
                                         RowOrder order)
    : work_(work),
      edges_(graph.graph()->edge_types()[edge_type]),
      edge_type_(static_cast<int>(edge_type)),
      options_(options),
      csc_(csc_of(graph, edge_type)),
      bad_(bad),
      weights_(weights_of(graph, options, edge_type, bad)),
      is_in_place_(graph.placement() == Location::kInPlace),
      row_order_(order) {}

bool CudaRelationBuilder::replaces() const {
  const auto* uniform = std::get_if<Uniform>(&options_.method);
  return uniform != nullptr && uniform->replace;
}

// Picks that repeat, by weights. All neighbors are taken once each.
bool CudaRelationBuilder::adds_weights() const {
  const auto* weighted = std::get_if<Weighted>(&options_.method);
  return weighted != nullptr && weighted->replace && fanout_ != kAllNeighbors;
}

// In-edges are looked at one by one by LABOR, where they have weights or dependent words, and by
// Floyd's algorithm for very many picks.
bool CudaRelationBuilder::looks_at_edges() const {
  if (!std::holds_alternative<Uniform>(options_.method)) return true;
  return !replaces() && fanout_ != kAllNeighbors &&
         (options_.dependent > 1 || fanout_ > kCudaSomePicks);
}

// Its kernels have a thread for each pick or in-edge, which has to know its row.
bool CudaRelationBuilder::has_threads_of_items() const {
  return is_marked_ || is_sorted_ || replaces() || fanout_ == kAllNeighbors;
}

bool CudaRelationBuilder::pays_to_sort_rows() const {
  if (!is_in_place_ || row_order_ == RowOrder::kAsGiven) return false;
  return row_order_ == RowOrder::kSorted || pays_to_sort(bytes_of(edges_), num_dst());
}

// A row's bounds and its in-edges are about as far on in their arrays as its node is among all.
void CudaRelationBuilder::sort_rows(CudaRelationScratch& scratch) {
  const int64_t num_nodes = edges_.indptr.rows() - 1;
  const int64_t bytes_of_node = std::max<int64_t>(bytes_of(edges_) / num_nodes, 1);
  const int64_t num_counters = cuda_order_counters(num_nodes, bytes_of_node);
  require_cuda().rows.order(work_.device,
                            {.ids = dst_nodes(),
                             .wide_ids = true,
                             .num_ids = num_dst(),
                             .num_rows = num_nodes,
                             .row_bytes = bytes_of_node,
                             .ordered = sorted_nodes_.reserve(work_, num_dst()),
                             .positions = dst_.reserve(work_, num_dst()),
                             .begins = scratch.regions.reserve(work_, num_counters),
                             .scan = scratch.sums.reserve(work_, num_counters)},
                            work_.stream);
  picks_before_.reserve(work_, num_dst() + 1);
}

void CudaRelationBuilder::place_rows(CudaRelationScratch& scratch) {
  if (!is_sorted_) return;
  work_.kernels.place_rows(work_.device,
                           {.dst = dst_.data(),
                            .picks_before = picks_before_.data(),
                            .num_dst = num_dst(),
                            .indptr = indptr(),
                            .scan = scratch.sums.reserve(work_, num_dst())},
                           work_.stream);
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
  offset_ = indptr();
  is_sorted_ = !is_empty() && num_dst() > 0 && pays_to_sort_rows();
  if (is_empty()) return work_.fill(indptr(), 0, relation_.indptr.bytes());
  if (is_sorted_) sort_rows(scratch);
  offset_ = is_marked_ ? in_edge_offset_.reserve(work_, num_dst() + 1) : picks_before();
  work_.kernels.rows(work_.device,
                     {.edges = csc_,
                      .nodes = row_nodes(),
                      .dst = order().dst,
                      .num_dst = num_dst(),
                      .fanout = is_marked_ ? kAllNeighbors : fanout,
                      .replace = replaces(),
                      .most = most_counted(),
                      .row = row_.reserve(work_, num_dst()),
                      .offset = offset_,
                      .bad = bad_.row,
                      .scan = scratch.sums.reserve(work_, num_dst())},
                     work_.stream);
  if (!is_marked_) place_rows(scratch);
}

int64_t CudaRelationBuilder::most_counted() const {
  return is_marked_ ? cuda_max_in_edges(num_dst()) : kCudaMaxEdges;
}

void CudaRelationBuilder::set_counted(int64_t count) {
  num_counted_ = num_edges_ = count;
  if (count > 0 && has_threads_of_items() && !adds_weights()) find_first_rows(offset_, count);
}

void CudaRelationBuilder::find_first_rows(const int64_t* offset, int64_t count) {
  work_.kernels.first_rows(
      work_.device, {offset, num_dst(), count, first_row_.reserve(work_, cuda_first_rows(count))},
      work_.stream);
}

void CudaRelationBuilder::add_candidates(CudaNodes& candidates, CudaRelationScratch& scratch) {
  int32_t* local = candidate_.reserve(work_, num_counted_);
  for (int64_t first = 0; first < num_counted_; first += scratch.candidates_at_once) {
    const int64_t count = std::min(scratch.candidates_at_once, num_counted_ - first);
    int64_t* ids = scratch.sources.reserve(work_, count);
    work_.kernels.load_in_edges(work_.device,
                                {.edges = csc_,
                                 .rows = rows(),
                                 .first = first,
                                 .count = count,
                                 .sources = ids,
                                 .slots = candidates.slots(),
                                 .bad = bad_.pick},
                                work_.stream);
    candidates.number({ids, count}, local + first, scratch.sums);
  }
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
  if (adds_weights()) return add_weights(scratch);
  const int64_t num_words = cuda_mark_words(num_counted_);
  const CudaMarkArgs args{rows(), num_counted_, fanout_, draws, marks_.reserve(work_, num_words)};
  if (std::holds_alternative<Labor>(options_.method)) {
    const CudaImportance importance{p, candidate_.data(), c_.data()};
    work_.kernels.mark_labor(work_.device,
                             {.mark = args,
                              .edges = csc_,
                              .threshold = threshold_.reserve(work_, num_dst()),
                              .importance = p != nullptr ? &importance : nullptr},
                             work_.stream);
  } else if (weights_.data != nullptr || options_.dependent > 1) {
    mark_smallest(args);
  } else {
    work_.fill(args.marks, 0, num_words * int64_t{sizeof(uint32_t)});
    work_.kernels.mark_floyd(work_.device, args, work_.stream);
  }
  rank(scratch);
  place_rows(scratch);
}

void CudaRelationBuilder::mark_smallest(const CudaMarkArgs& args) {
  uint64_t* number = number_.reserve(work_, num_counted_);
  work_.kernels.number_edges(work_.device, {args, weights_, number}, work_.stream);
  work_.kernels.mark_smallest(work_.device, {args, number, limit_.reserve(work_, num_dst())},
                              work_.stream);
}

void CudaRelationBuilder::add_weights(CudaRelationScratch& scratch) {
  work_.kernels.sum_weights(work_.device,
                            {.rows = rows(),
                             .weights = weights_,
                             .fanout = fanout_,
                             .most = kCudaMaxEdges,
                             .sums = sums_.reserve(work_, num_counted_),
                             .picks_before = picks_before(),
                             .scan = scratch.sums.reserve(work_, num_dst())},
                            work_.stream);
  place_rows(scratch);
}

void CudaRelationBuilder::rank(CudaRelationScratch& scratch) {
  const int64_t num_blocks = cuda_mark_blocks(num_counted_);
  work_.kernels.rank(work_.device,
                     {.marks = marks_.data(),
                      .num_edges = num_counted_,
                      .rank = rank_.reserve(work_, num_blocks + 1),
                      .offset = offset_,
                      .num_dst = num_dst(),
                      .marks_before = picks_before(),
                      .scan = scratch.sums.reserve(work_, num_blocks)},
                     work_.stream);
}

void CudaRelationBuilder::set_accepted(int64_t count) {
  num_edges_ = count;
  if (!adds_weights()) return;
  offset_ = picks_before();
  if (count > 0) find_first_rows(offset_, count);
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
       .indptr = indptr(),
       .inverse = p != nullptr && normalized ? inverse_.reserve(work_, num_edges_) : nullptr},
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
  if (is_marked_ && !adds_weights()) {
    take_marked(std::get_if<Labor>(&options_.method), p);
  } else {
    work_.kernels.pick(work_.device,
                       {.rows = rows(),
                        .num_picks = num_edges_,
                        .fanout = fanout_,
                        .replace = replaces() || adds_weights(),
                        .draws = draws,
                        .positions = positions_,
                        .sums = adds_weights() ? sums_.data() : nullptr,
                        .sums_before = in_edge_offset_.data()},
                       work_.stream);
  }
  number(sources, scratch);
}

void CudaRelationBuilder::number(CudaNodes& sources, CudaRelationScratch& scratch) {
  int64_t* ids = scratch.sources.reserve(work_, num_edges_);
  if (is_sorted_ && is_marked_ && !adds_weights())
    find_first_rows(picks_before_.data(), num_edges_);
  work_.kernels.load(work_.device,
                     {.edges = csc_,
                      .positions = positions_,
                      .num_picks = num_edges_,
                      .order = order(),
                      .first_row = first_row_.data(),
                      .sources = ids,
                      .slots = sources.slots(),
                      .bad = bad_.pick},
                     work_.stream);
  sources.number({ids, num_edges_}, static_cast<int32_t*>(relation_.indices.data), scratch.sums);
}

}  // namespace ramet
