#include "cuda_relation_builder.h"

#include <algorithm>
#include <limits>
#include <string>

#include "sampling/edge_times.h"
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
          .num_src_nodes = source.num_nodes,
          .cached = {graph.slots_of_copies(edge_type), graph.copied_indices(edge_type)}};
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
  return {graph.table(found->second), found->second.dtype == DType::kFloat64, bad.row};
}

// Where the device reads them.
CudaTimes placed_times(const CudaGraph& graph,
                       const std::optional<EdgeTimes>& times,
                       size_t edge_type) {
  if (!times) return {};
  const std::string& name = times->rule.table;
  const EdgeType& edges = graph.graph()->edge_types()[edge_type];
  const auto& sources = graph.graph()->node_types()[static_cast<size_t>(edges.src)];
  const auto place = [&](const auto& type) {
    return static_cast<const int64_t*>(graph.table(type.tables.at(name)));
  };
  if (times->of_edges != nullptr) return {.of_edges = place(edges)};
  return {.of_sources = place(sources)};
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
      times_(edge_times(*graph.graph(), options.time)[edge_type]),
      placed_times_(placed_times(graph, times_, edge_type)),
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

// LABOR by weights.
bool CudaRelationBuilder::has_shares() const {
  return weights_.data != nullptr && std::holds_alternative<Labor>(options_.method);
}

bool CudaRelationBuilder::takes_last() const {
  return times_ && times_->rule.strategy == Strategy::kLast && fanout_ != kAllNeighbors;
}

CudaTrees CudaRelationBuilder::trees(const CudaNodes& sources) const {
  if (!nodes_->has_keys()) return {};
  return {nodes_->ids() + destinations_.begin, nodes_->id_bits(), sources.id_bits()};
}

CudaTimes CudaRelationBuilder::times() const {
  CudaTimes times = placed_times_;
  if (times_) times.allowed = nodes_->allowed();
  return times;
}

// In-edges are looked at one by one by LABOR, where they have weights or dependent words, for the
// latest of unsorted rows, and by Floyd's algorithm for very many picks.
bool CudaRelationBuilder::looks_at_edges() const {
  if (!std::holds_alternative<Uniform>(options_.method)) return true;
  return !replaces() && fanout_ != kAllNeighbors &&
         (options_.dependent > 1 || fanout_ > kCudaSomePicks ||
          (takes_last() && !has_sorted_times()));
}

// Its kernels have a thread for each pick or in-edge, which has to know its row.
bool CudaRelationBuilder::has_threads_of_items() const {
  return is_marked_ || is_unfiltered_ || is_sorted_ || replaces() || fanout_ == kAllNeighbors;
}

bool CudaRelationBuilder::pays_to_sort_rows() const {
  if (!is_in_place_ || row_order_ == RowOrder::kAsGiven || nodes_->rows() != nullptr) return false;
  return row_order_ == RowOrder::kSorted || pays_to_sort(edges_.indices.bytes(), num_dst());
}

// A row's in-edges are about as far on among all as its node is.
void CudaRelationBuilder::sort_rows(CudaRelationScratch& scratch) {
  const int64_t num_nodes = edges_.indptr.rows() - 1;
  const int64_t bytes_of_node = std::max<int64_t>(edges_.indices.bytes() / num_nodes, 1);
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
                                const CudaExcluded& excluded,
                                CudaRelationScratch& scratch) {
  fanout_ = fanout;
  excluded_ = excluded;
  nodes_ = &nodes;
  destinations_ = destinations;
  is_marked_ = !is_empty() && looks_at_edges();
  is_unfiltered_ = !is_empty() && ((times_ && !times_->sorted) || excluded_.count > 0);
  is_unweighed_ = !is_empty() && has_shares();
  num_counted_ = num_edges_ = 0;
  position_ = nullptr;
  relation_ = {};
  relation_.edge_type = edge_type_;
  relation_.indptr = work_.allocate(DType::kInt64, num_dst() + 1);
  offset_ = indptr();
  is_sorted_ = !is_empty() && num_dst() > 0 && pays_to_sort_rows();
  if (is_empty()) return work_.fill(indptr(), 0, relation_.indptr.bytes());
  if (is_sorted_) sort_rows(scratch);
  read_rows(csc_, is_sorted_ ? row_nodes() : dst_rows(), scratch);
}

void CudaRelationBuilder::read_rows(const CudaCsc& csc,
                                    const int64_t* numbers,
                                    CudaRelationScratch& scratch) {
  const bool counts_in_edges = is_marked_ || is_unfiltered_;
  offset_ = picks_before();
  first_row_offset_ = nullptr;
  if (counts_in_edges)
    offset_ = (is_unfiltered_ ? whole_offset_ : in_edge_offset_).reserve(work_, num_dst() + 1);
  work_.kernels.rows(
      work_.device,
      {.edges = csc,
       .rows = numbers,
       .dst = order().dst,
       .num_dst = num_dst(),
       .times = has_sorted_times() && position_ == nullptr ? times() : CudaTimes(),
       .last = takes_last() && has_sorted_times() && !is_unfiltered_ ? fanout_ : kAllNeighbors,
       .fanout = counts_in_edges ? kAllNeighbors : fanout_,
       .replace = replaces(),
       .most = most_counted(),
       .row = row_.reserve(work_, num_dst()),
       .offset = offset_,
       .bad = bad_.row,
       .scan = scratch.sums.reserve(work_, num_dst())},
      work_.stream);
  if (!counts_in_edges) place_rows(scratch);
}

int64_t CudaRelationBuilder::most_counted() const {
  return is_marked_ || is_unfiltered_ ? cuda_max_in_edges(num_dst()) : kCudaMaxEdges;
}

void CudaRelationBuilder::set_counted(int64_t count) {
  num_counted_ = num_edges_ = count;
  if (has_threads_of_items() && (is_unfiltered_ || !adds_weights()))
    find_first_rows(offset_, count);
}

void CudaRelationBuilder::find_first_rows(const int64_t* offset, int64_t count) {
  if (count == 0 || offset == first_row_offset_) return;
  first_row_offset_ = offset;
  work_.kernels.first_rows(
      work_.device, {offset, num_dst(), count, first_row_.reserve(work_, cuda_first_rows(count))},
      work_.stream);
}

void CudaRelationBuilder::add_candidates(CudaNodes& candidates, CudaRelationScratch& scratch) {
  int32_t* local = candidate_.reserve(work_, num_counted_);
  for (int64_t first = 0; first < num_counted_; first += scratch.candidates_at_once) {
    const int64_t count = std::min(scratch.candidates_at_once, num_counted_ - first);
    int64_t* ids = scratch.sources.reserve(work_, count);
    candidates.reserve(count);
    work_.kernels.load_in_edges(work_.device,
                                {.edges = csc_,
                                 .rows = rows(),
                                 .first = first,
                                 .count = count,
                                 .trees = trees(candidates),
                                 .sources = ids,
                                 .table = candidates.table(),
                                 .bad = bad_.pick},
                                work_.stream);
    candidates.number({ids, count}, local + first, scratch.sums);
  }
}

void CudaRelationBuilder::solve(const double* p, double* largest, bool is_first) {
  CudaShares shares;
  if (has_shares()) {
    shares = {weights_, row_weight_.data(), share_.reserve(work_, num_counted_),
              variance_.reserve(work_, num_dst()), is_first};
  }
  work_.kernels.solve(work_.device,
                      {.rows = rows(),
                       .num_edges = num_counted_,
                       .fanout = fanout_,
                       .p = p,
                       .candidate = candidate_.data(),
                       .c = c_.reserve(work_, num_dst()),
                       .largest = largest,
                       .shares = shares},
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
                        .sums_before = in_edge_offset_.data(),
                        .tries = tries(draws.keys)},
                       work_.stream);
  }
  number(sources, scratch);
}

void CudaRelationBuilder::narrow_paths(CudaNodes& sources) {
  if (num_edges_ == 0) return;
  const Comparison comparison = options_.time->comparison;
  find_first_rows(indptr(), num_edges_);
  CudaTimes all = placed_times_;
  all.allowed = nodes_->allowed();
  work_.kernels.narrow_paths(
      work_.device,
      {.relation = {indptr(), num_dst(), static_cast<const int32_t*>(relation_.indices.data),
                    num_edges_, first_row_.data()},
       .positions = positions_,
       .edges = csc_,
       .times = all,
       .is_past = allows_past(comparison),
       .is_strict = excludes_equal(comparison),
       .paths = sources.paths()},
      work_.stream);
}

void CudaRelationBuilder::number(CudaNodes& sources, CudaRelationScratch& scratch) {
  int64_t* ids = scratch.sources.reserve(work_, num_edges_);
  sources.reserve(num_edges_);
  const bool knows_rows = is_sorted_ || nodes_->has_keys();
  if (knows_rows) find_first_rows(picks_before(), num_edges_);
  work_.kernels.load(work_.device,
                     {.edges = csc_,
                      .positions = positions_,
                      .num_picks = num_edges_,
                      .order = order(),
                      .offset = knows_rows ? picks_before() : nullptr,
                      .first_row = first_row_.data(),
                      .trees = trees(sources),
                      .times = has_sorted_times() ? times() : CudaTimes(),
                      .sources = ids,
                      .table = sources.table(),
                      .bad = bad_.pick},
                     work_.stream);
  sources.number({ids, num_edges_}, static_cast<int32_t*>(relation_.indices.data), scratch.sums);
}

}  // namespace ramet
