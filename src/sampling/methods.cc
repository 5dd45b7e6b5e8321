#include "methods.h"

namespace ramet {
namespace {

template <typename Id>
class UniformMethod final : public RelationSampler<Id> {
 public:
  UniformMethod(const Uniform& method, const HopOptions& options, HopScratch<Id>& scratch)
      : replace_(method.replace), options_(options), scratch_(scratch.uniform) {}

  Relation sample(const RelationTask<Id>& task, const DrawKeys& keys) override {
    // All neighbors are taken once each.
    const UniformDraws draws{keys, replace_ && task.fanout != kAllNeighbors};
    return sample_uniform(task, draws, scratch_, *options_.pool, options_.threads);
  }

 private:
  const bool replace_;
  const HopOptions& options_;
  UniformScratch<Id>& scratch_;
};

template <typename Id>
class LaborMethod final : public RelationSampler<Id> {
 public:
  LaborMethod(const Labor& method, const HopOptions& options, HopScratch<Id>& scratch)
      : method_(method), options_(options), scratch_(scratch) {
    if (importance() != nullptr) scratch_.importance.prepare(*options.graph, method.iterations);
  }

  Relation sample(const RelationTask<Id>& task, const DrawKeys& keys) override {
    const LaborDraws draws{
        keys, method_.iterations > 0 ? &scratch_.importance.relation(task.edge_type) : nullptr,
        method_.weights};
    return sample_labor(task, draws, scratch_.labor, *options_.pool, options_.threads);
  }

  HopImportance<Id>* importance() override {
    return method_.iterations > 0 ? &scratch_.importance : nullptr;
  }

 private:
  const Labor method_;
  const HopOptions& options_;
  HopScratch<Id>& scratch_;
};

template <typename Id>
using Made = std::unique_ptr<RelationSampler<Id>>;

template <typename Id>
Made<Id> make(const Uniform& method, const HopOptions& options, HopScratch<Id>& scratch) {
  return std::make_unique<UniformMethod<Id>>(method, options, scratch);
}

template <typename Id>
Made<Id> make(const Labor& method, const HopOptions& options, HopScratch<Id>& scratch) {
  return std::make_unique<LaborMethod<Id>>(method, options, scratch);
}

}  // namespace

template <typename Id>
std::unique_ptr<RelationSampler<Id>> make_relation_sampler(const HopOptions& options,
                                                           HopScratch<Id>& scratch) {
  return std::visit([&](const auto& method) { return make<Id>(method, options, scratch); },
                    options.sample.method);
}

template std::unique_ptr<RelationSampler<int32_t>> make_relation_sampler(const HopOptions&,
                                                                         HopScratch<int32_t>&);
template std::unique_ptr<RelationSampler<int64_t>> make_relation_sampler(const HopOptions&,
                                                                         HopScratch<int64_t>&);

}  // namespace ramet
