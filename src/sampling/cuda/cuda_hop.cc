#include "cuda_hop.h"

#include <algorithm>

#include "ramet/store.h"

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

CudaHop::CudaHop(const CudaWork& work, const CudaGraph& graph, const SampleOptions& options)
    : options_(options),
      num_relations_(graph.graph()->edge_types().size()),
      num_types_(graph.graph()->node_types().size()),
      report_(work, num_candidates(num_types_)) {
  for (size_t t = 0; t < num_types_; ++t) {
    const NodeType& type = graph.graph()->node_types()[t];
    nodes_.emplace_back(work, type.num_nodes, report_.at(num_nodes(t)));
    source_type_hash_.push_back(hash_name(encode_name(type.name)));
  }
  for (size_t r = 0; r < num_relations_; ++r)
    relations_.emplace_back(work, graph, r,
                            CudaBad{report_.bad(bad_row(r)), report_.bad(bad_pick(r))});
  if (options.importance_iterations > 0)
    importances_ =
        std::make_unique<CudaImportances>(work, *graph.graph(), report_.at(num_candidates(0)));
  if (options.dependent > 1) tables_ = copy_tables(work, tables_memory_);
}

Block CudaHop::sample(const DrawKeys& step_keys, int hop, const std::atomic<bool>* stop) {
  Block block;
  block.num_dst = sizes();
  start_relations(hop);
  const Relations relations = sound_relations();
  if (importances_ != nullptr) weigh(relations, stop);
  mark(relations, step_keys, hop);
  take(relations, step_keys, hop);
  report_.wait();
  check_sources(relations, false);
  if (relations.size() < num_relations_) refuse(relations.size());
  for (size_t t = 0; t < num_types_; ++t)
    nodes_[t].set_size(report_[num_nodes(t)]);
  for (CudaRelationBuilder& relation : relations)
    block.relations.push_back(relation.finish());
  block.num_src = sizes();
  return block;
}

void CudaHop::start_relations(int hop) {
  report_.clear_bad(0, 2 * num_relations_);
  for (size_t r = 0; r < num_relations_; ++r) {
    CudaRelationBuilder& relation = relations_[r];
    relation.start(options_, options_.fanouts[r][static_cast<size_t>(hop)],
                   nodes_[static_cast<size_t>(relation.edges().dst)], scratch_);
    report_.set(edges(r), relation.counted());
  }
  report_.wait();
}

// Those before the first that cannot be sampled. What is wrong with one before comes first.
CudaHop::Relations CudaHop::sound_relations() {
  size_t count = 0;
  while (count < num_relations_ && !report_.is_bad(bad_row(count)) &&
         report_[edges(count)] <= kCudaMaxEdges) {
    relations_[count].set_counted(report_[edges(count)]);
    ++count;
  }
  return Relations(relations_).first(count);
}

void CudaHop::refuse(size_t r) const {
  if (report_.is_bad(bad_row(r))) relations_[r].refuse_row(report_[bad_row(r)]);
  relations_[r].refuse_count();
}

void CudaHop::weigh(Relations relations, const std::atomic<bool>* stop) {
  importances_->start(relations, scratch_);
  report_.wait();
  check_sources(relations, true);
  std::vector<int64_t> counts;
  for (size_t t = 0; t < num_types_; ++t)
    counts.push_back(report_[num_candidates(t)]);
  importances_->set_sizes(counts);
  importances_->iterate(relations, options_.importance_iterations, stop);
  importances_->finish();
}

void CudaHop::mark(Relations relations, const DrawKeys& step_keys, int hop) {
  bool any = false;
  for (size_t r = 0; r < relations.size(); ++r) {
    CudaRelationBuilder& relation = relations[r];
    if (!relation.is_marked()) continue;
    any = true;
    relation.mark(options_, draws(relation, step_keys, hop), importances(relation), scratch_);
    report_.set(edges(r), relation.accepted());
  }
  if (!any) return;
  report_.wait();
  for (size_t r = 0; r < relations.size(); ++r) {
    if (relations[r].is_marked()) relations[r].set_accepted(report_[edges(r)]);
  }
}

void CudaHop::take(Relations relations, const DrawKeys& step_keys, int hop) {
  for (CudaRelationBuilder& relation : relations)
    relation.take(options_, draws(relation, step_keys, hop), importances(relation),
                  nodes_[static_cast<size_t>(relation.edges().src)], scratch_);
}

void CudaHop::check_sources(Relations relations, bool are_candidates) {
  for (size_t r = 0; r < relations.size(); ++r) {
    if (!report_.is_bad(bad_pick(r))) continue;
    const int64_t number = report_[bad_pick(r)];
    if (are_candidates) relations[r].refuse_candidate(number, scratch_);
    relations[r].refuse_pick(number);
  }
}

const double* CudaHop::importances(const CudaRelationBuilder& relation) const {
  return importances_ != nullptr ? importances_->p(relation.edges().src) : nullptr;
}

CudaDraws CudaHop::draws(const CudaRelationBuilder& relation,
                         const DrawKeys& step_keys,
                         int hop) const {
  const bool labor = options_.sampler == Sampler::kLabor;
  const int key_hop = options_.layer_dependent ? 0 : hop;
  const uint64_t hash = labor ? source_type_hash_[static_cast<size_t>(relation.edges().src)]
                              : relation.edges().name_hash;
  return {hop_keys(step_keys, static_cast<uint64_t>(key_hop), hash), tables_};
}

std::vector<int64_t> CudaHop::sizes() const {
  std::vector<int64_t> result;
  for (const CudaNodes& nodes : nodes_)
    result.push_back(nodes.size());
  return result;
}

}  // namespace ramet
