#include "cuda_hop.h"

#include <algorithm>
#include <utility>

#include "sampling/excluded_edges.h"
#include "sampling/hop_sampler.h"

namespace ramet {
namespace {

// A copy of the tables of normals in the memory of a device.
NormalTables copy_tables(const CudaWork& work, CudaScratchArray<double>& memory) {
  constexpr int64_t kQuantile = sizeof(kNormalQuantile) / sizeof(double);
  constexpr int64_t kTail = sizeof(kNormalTail) / sizeof(double);
  double* quantile = memory.reserve(work, kQuantile + kTail);
  work.copy(quantile, kNormalTables.quantile, sizeof(kNormalQuantile));
  work.copy(quantile + kQuantile, kNormalTables.tail, sizeof(kNormalTail));
  return {quantile, quantile + kQuantile};
}

}  // namespace

CudaHop::CudaHop(const CudaWork& work,
                 const CudaGraph& graph,
                 const SampleOptions& options,
                 std::span<const TreeKeys> tree_keys,
                 RowOrder order)
    : work_(work),
      options_(options),
      keys_(*graph.graph(), options.method),
      graph_(*graph.graph()),
      num_relations_(graph.graph()->edge_types().size()),
      num_types_(graph.graph()->node_types().size()),
      report_(work, num_candidates(num_types_)),
      excluded_(num_relations_) {
  for (size_t t = 0; t < num_types_; ++t) {
    const NodeType& type = graph.graph()->node_types()[t];
    nodes_.emplace_back(work, type.num_nodes, report_.at(num_nodes(t)),
                        tree_keys.empty() ? nullptr : &tree_keys[t]);
  }
  for (size_t r = 0; r < num_relations_; ++r)
    relations_.emplace_back(work, graph, options, r,
                            CudaBad{report_.bad(bad_row(r)), report_.bad(bad_pick(r))}, order);
  const auto* labor = std::get_if<Labor>(&options.method);
  if (labor != nullptr && labor->iterations > 0)
    importances_ = std::make_unique<CudaImportances>(
        work, *graph.graph(), tree_keys, labor->iterations, report_.at(num_candidates(0)));
  if (options.dependent > 1) tables_ = copy_tables(work, tables_memory_);
}

void CudaHop::start_batch(std::span<const TimeSpan> seed_spans) {
  host_spans_.clear();
  for (const TimeSpan& span : seed_spans)
    host_spans_.push_back({span.first, span.last});
  const int64_t count = std::ssize(host_spans_);
  spans_memory_.reserve(work_, std::max<int64_t>(count, 1));
  work_.copy(spans_memory_.data(), host_spans_.data(), count * int64_t{sizeof(CudaSpan)});
  spans_ = spans_memory_.data();
}

void CudaHop::exclude(std::span<const ExcludedEdges> excluded) {
  std::vector<int64_t> all;
  std::vector<size_t> begin{0};
  for (const ExcludedPositions& of_type : excluded_by_type(graph_, excluded)) {
    all.insert(all.end(), of_type.all().begin(), of_type.all().end());
    begin.push_back(all.size());
  }
  excluded_.assign(num_relations_, {});
  if (all.empty()) return;
  const int64_t* there = excluded_memory_.reserve(work_, std::ssize(all));
  work_.copy(excluded_memory_.data(), all.data(), std::ssize(all) * int64_t{sizeof(int64_t)});
  for (size_t r = 0; r < num_relations_; ++r)
    excluded_[r] = {there + begin[r], static_cast<int64_t>(begin[r + 1] - begin[r])};
}

Block CudaHop::sample(std::span<const ListRange> destinations,
                      const DrawKeys& step_keys,
                      int hop,
                      const std::atomic<bool>* stop) {
  begin(destinations, hop);
  if (importances_ != nullptr) importances_->iterate(sound_, stop);
  return finish(step_keys, hop);
}

void CudaHop::begin(std::span<const ListRange> destinations, int hop) {
  block_ = {};
  set_destinations(block_, destinations);
  start_relations(destinations, hop);
  sound_ = filter(sound_relations());
  if (importances_ != nullptr) find_candidates(sound_);
}

Block CudaHop::finish(const DrawKeys& step_keys, int hop) {
  if (importances_ != nullptr) {
    importances_->solve(sound_);
    importances_->finish();
  }
  const Relations relations = mark(sound_, step_keys, hop);
  take(relations, step_keys, hop);
  report_.wait();
  check_sources(relations, false);
  if (relations.size() < num_relations_) throw_unsound(relations.size());
  for (size_t t = 0; t < num_types_; ++t)
    nodes_[t].set_size(report_[num_nodes(t)]);
  for (CudaRelationBuilder& relation : relations) {
    if (is_monotonic()) relation.narrow_paths(nodes_[static_cast<size_t>(relation.edges().src)]);
    block_.relations.push_back(relation.finish());
  }
  block_.num_src = sizes();
  return std::move(block_);
}

void CudaHop::start_relations(std::span<const ListRange> destinations, int hop) {
  report_.clear_bad(0, 2 * num_relations_);
  for (size_t t = 0; t < num_types_; ++t)
    nodes_[t].start_hop(destinations[t], spans_, is_monotonic());
  for (size_t r = 0; r < num_relations_; ++r) {
    CudaRelationBuilder& relation = relations_[r];
    const auto dst = static_cast<size_t>(relation.edges().dst);
    relation.start(options_.fanouts[r][static_cast<size_t>(hop)], nodes_[dst], destinations[dst],
                   excluded_[r], scratch_);
    report_.set(edges(r), relation.counted());
  }
  report_.wait();
}

// Those before the first that cannot be sampled. What is wrong with one before comes first.
CudaHop::Relations CudaHop::sound_relations() {
  size_t count = 0;
  while (count < num_relations_ && !report_.is_bad(bad_row(count)) &&
         report_[edges(count)] <= relations_[count].most_counted()) {
    relations_[count].set_counted(report_[edges(count)]);
    ++count;
  }
  return Relations(relations_).first(count);
}

// Leaves what times allow, where rows are in no order of them, what is not excluded, and then, for
// LABOR by weights, what has weight.
CudaHop::Relations CudaHop::filter(Relations relations) {
  const auto is_unfiltered = [](const CudaRelationBuilder& r) { return r.is_unfiltered(); };
  while (std::any_of(relations.begin(), relations.end(), is_unfiltered)) {
    for (size_t r = 0; r < relations.size(); ++r) {
      if (!relations[r].is_unfiltered()) continue;
      relations[r].filter(scratch_);
      report_.set(edges(r), relations[r].counted());
    }
    report_.wait();
    relations = sound_relations();
  }
  return relations;
}

void CudaHop::throw_unsound(size_t r) const {
  if (report_.is_bad(bad_row(r))) relations_[r].throw_bad_row(report_[bad_row(r)]);
  relations_[r].throw_too_many_counted();
}

void CudaHop::find_candidates(Relations relations) {
  importances_->start(relations, scratch_);
  report_.wait();
  check_sources(relations, true);
  std::vector<int64_t> counts;
  for (size_t t = 0; t < num_types_; ++t)
    counts.push_back(report_[num_candidates(t)]);
  importances_->set_sizes(counts);
}

// Those before the first that has a bad weight.
CudaHop::Relations CudaHop::mark(Relations relations, const DrawKeys& step_keys, int hop) {
  bool any = false;
  for (size_t r = 0; r < relations.size(); ++r) {
    CudaRelationBuilder& relation = relations[r];
    if (!relation.is_marked()) continue;
    any = true;
    relation.mark(draws(r, step_keys, hop), importances(relation), scratch_);
    report_.set(edges(r), relation.accepted());
  }
  if (!any) return relations;
  report_.wait();
  for (size_t r = 0; r < relations.size(); ++r) {
    if (report_.is_bad(bad_row(r))) return relations.first(r);
    if (!relations[r].is_marked()) continue;
    if (report_[edges(r)] > kCudaMaxEdges) relations[r].throw_too_many_picks();
    relations[r].set_accepted(report_[edges(r)]);
  }
  return relations;
}

void CudaHop::take(Relations relations, const DrawKeys& step_keys, int hop) {
  for (size_t r = 0; r < relations.size(); ++r) {
    CudaRelationBuilder& relation = relations[r];
    relation.take(draws(r, step_keys, hop), importances(relation),
                  nodes_[static_cast<size_t>(relation.edges().src)], scratch_);
  }
}

void CudaHop::check_sources(Relations relations, bool are_candidates) {
  for (size_t r = 0; r < relations.size(); ++r) {
    if (!report_.is_bad(bad_pick(r))) continue;
    const int64_t number = report_[bad_pick(r)];
    if (are_candidates) relations[r].throw_bad_candidate(number);
    relations[r].throw_bad_pick(number);
  }
}

const double* CudaHop::importances(const CudaRelationBuilder& relation) const {
  return importances_ != nullptr ? importances_->p(relation.edges().src) : nullptr;
}

CudaDraws CudaHop::draws(size_t edge_type, const DrawKeys& step_keys, int hop) const {
  return {keys_.of(step_keys, edge_type, hop), tables_};
}

NodeLists CudaHop::take_lists() const {
  NodeLists lists;
  for (const CudaNodes& nodes : nodes_) {
    const Array ids = lists.n_id.emplace_back(work_.allocate(DType::kInt64, nodes.size()));
    if (!nodes.has_keys()) {
      work_.copy(ids.data, nodes.ids(), ids.bytes());
      continue;
    }
    const Array trees = lists.trees.emplace_back(work_.allocate(DType::kInt64, nodes.size()));
    work_.kernels.split_keys(work_.device,
                             {.keys = nodes.ids(),
                              .count = nodes.size(),
                              .id_bits = nodes.id_bits(),
                              .ids = static_cast<int64_t*>(ids.data),
                              .trees = static_cast<int64_t*>(trees.data)},
                             work_.stream);
  }
  return lists;
}

std::vector<int64_t> CudaHop::sizes() const {
  std::vector<int64_t> result;
  for (const CudaNodes& nodes : nodes_)
    result.push_back(nodes.size());
  return result;
}

}  // namespace ramet
