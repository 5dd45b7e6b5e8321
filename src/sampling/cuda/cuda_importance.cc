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

void CudaImportances::iterate(std::span<CudaRelationBuilder> relations,
                              const std::atomic<bool>* stop) {
  const auto for_each_type = [&](auto step) {
    for (auto& [nodes, p, largest] : types_) {
      const int64_t count = nodes.size();
      step(work_.device, p.reserve(work_, count), largest.reserve(work_, count), count,
           work_.stream);
    }
  };
  for_each_type(work_.kernels.begin_importance);
  const auto solve_all = [&](bool max_reduces) {
    for (CudaRelationBuilder& relation : relations) {
      const OfType& sources = sources_of(relation);
      if (!relation.is_empty())
        relation.solve(sources.p.data(), max_reduces ? sources.largest.data() : nullptr);
    }
  };
  for (int64_t i = 0; i < iterations_ && (stop == nullptr || !stop->load()); ++i) {
    solve_all(true);
    for_each_type(work_.kernels.update);
  }
  solve_all(false);
}

const double* CudaImportances::p(int type) const {
  return types_[static_cast<size_t>(type)].p.data();
}

void CudaImportances::finish() {
  for (OfType& type : types_)
    type.nodes.finish_batch();
}

}  // namespace ramet
