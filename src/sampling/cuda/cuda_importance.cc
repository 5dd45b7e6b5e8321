#include "cuda_importance.h"

namespace ramet {

CudaImportances::CudaImportances(const CudaWork& work,
                                 const Graph& graph,
                                 std::span<const TreeKeys> tree_keys,
                                 int64_t iterations,
                                 int64_t* sizes)
    : work_(work), iterations_(iterations) {
  for (size_t t = 0; t < graph.node_types().size(); ++t)
    types_.push_back({CudaNodes(work, graph.node_types()[t].num_nodes, sizes + t,
                                tree_keys.empty() ? nullptr : &tree_keys[t]),
                      {},
                      {}});
}

CudaImportances::OfType& CudaImportances::sources_of(const CudaRelationBuilder& relation) {
  return types_[static_cast<size_t>(relation.edges().src)];
}

void CudaImportances::start(std::span<CudaRelationBuilder> relations,
                            CudaRelationScratch& scratch) {
  for (OfType& type : types_)
    type.nodes.start_batch({});
  for (CudaRelationBuilder& relation : relations) {
    if (!relation.is_empty()) relation.add_candidates(sources_of(relation).nodes, scratch);
  }
}

void CudaImportances::set_sizes(std::span<const int64_t> sizes) {
  for (size_t t = 0; t < types_.size(); ++t)
    types_[t].nodes.set_size(sizes[t]);
}

template <typename Step>
void CudaImportances::for_each_type(Step step) {
  for (auto& [nodes, p, largest] : types_) {
    const int64_t count = nodes.size();
    step(work_.device, p.reserve(work_, count), largest.reserve(work_, count), count, work_.stream);
  }
}

void CudaImportances::begin() {
  is_first_ = true;
  for_each_type(work_.kernels.begin_importance);
}

void CudaImportances::update() {
  is_first_ = false;
  for_each_type(work_.kernels.update);
}

void CudaImportances::solve(std::span<CudaRelationBuilder> relations, bool max_reduces) {
  for (CudaRelationBuilder& relation : relations) {
    const OfType& sources = sources_of(relation);
    if (!relation.is_empty())
      relation.solve(sources.p.data(), max_reduces ? sources.largest.data() : nullptr, is_first_);
  }
}

void CudaImportances::iterate(std::span<CudaRelationBuilder> relations,
                              const std::atomic<bool>* stop) {
  begin();
  for (int64_t i = 0; i < iterations_ && (stop == nullptr || !stop->load()); ++i) {
    max_reduce(relations);
    update();
  }
}

const double* CudaImportances::p(int type) const {
  return types_[static_cast<size_t>(type)].p.data();
}

void CudaImportances::finish() {
  for (OfType& type : types_)
    type.nodes.finish_batch();
}

}  // namespace ramet
