#include "methods.h"

#include <string>
#include <vector>

#include "labor_sampler.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"
#include "ramet/store.h"
#include "rows_in_time.h"
#include "smallest_sampler.h"
#include "temporal_sampler.h"
#include "weights.h"

namespace ramet {
namespace {

// Of dependent minibatches, without replacement.
bool draws_smallest_words(const Uniform& method, const SampleOptions& options) {
  return options.dependent > 1 && !method.replace;
}

template <typename Id>
class UniformMethod final : public RelationSampler<Id> {
 public:
  UniformMethod(const Uniform& method, const HopOptions& options, HopScratch<Id>& scratch)
      : method_(method), options_(options), scratch_(scratch) {}

  Relation sample(const RelationTask<Id>& task, const DrawKeys& keys) override {
    BufferPool& pool = *options_.pool;
    const int threads = options_.threads;
    const bool takes_last = task.times != nullptr && task.times->rule.strategy == Strategy::kLast;
    if (draws_smallest_words(method_, options_.sample) && !takes_last)
      return sample_smallest_words(task, keys, scratch_.scan, pool, threads);
    // All neighbors are taken once each.
    const bool replace = method_.replace && task.fanout != kAllNeighbors;
    if (task.times != nullptr && !task.times->sorted)
      return sample_in_time(task, keys, replace, scratch_.scan, pool, threads);
    return sample_uniform(task, {keys, replace}, scratch_.uniform, pool, threads);
  }

 private:
  const Uniform method_;
  const HopOptions& options_;
  HopScratch<Id>& scratch_;
};

template <typename Id>
class LaborMethod final : public RelationSampler<Id> {
 public:
  LaborMethod(const Labor& method, const HopOptions& options, HopScratch<Id>& scratch)
      : method_(method), options_(options), scratch_(scratch) {
    if (importance() != nullptr)
      scratch_.importance.prepare(*options.graph, method, options.sample.disjoint, options.threads);
  }

  Relation sample(const RelationTask<Id>& task, const DrawKeys& keys) override {
    const LaborDraws draws{
        keys, method_.iterations > 0 ? &scratch_.importance.relation(task.edge_type) : nullptr,
        method_};
    const int threads = options_.threads;
    return sample_labor(task, draws, scratch_.scan, *options_.pool, threads);
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
class WeightedMethod final : public RelationSampler<Id> {
 public:
  WeightedMethod(const Weighted& method, const HopOptions& options, HopScratch<Id>& scratch)
      : method_(method), options_(options), scratch_(scratch) {
    for (const EdgeType& edges : options.graph->edge_types())
      row_tries_.push_back(row_tries_of(edges));
  }

  Relation sample(const RelationTask<Id>& task, const DrawKeys& keys) override {
    const int threads = options_.threads;
    const WeightedDraws draws{keys, method_, options_.sample.dependent > 1,
                              row_tries_[task.edge_type]};
    return sample_weighted(task, draws, scratch_.scan, *options_.pool, threads);
  }

 private:
  // What is writable may have been written to, and dependent minibatches do not reject.
  DerivedArrays::Slot* row_tries_of(const EdgeType& edges) const {
    const auto weights = edges.tables.find(method_.table);
    if (options_.sample.dependent > 1 || weights == edges.tables.end() ||
        weights->second.writable || edges.indptr.writable || edges.read_by_row)
      return nullptr;
    return &options_.graph->derived().slot("tries of " + encode_name(method_.table) + " by " +
                                           edges.encoded);
  }

  const Weighted method_;
  const HopOptions& options_;
  HopScratch<Id>& scratch_;
  std::vector<DerivedArrays::Slot*> row_tries_;  // by edge type
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

template <typename Id>
Made<Id> make(const Weighted& method, const HopOptions& options, HopScratch<Id>& scratch) {
  return std::make_unique<WeightedMethod<Id>>(method, options, scratch);
}

// Trees cut what uniform sampling picks. Budgets of types have no fanouts of edge types.
template <typename Id>
Made<Id> make(const Budget& /*method*/, const HopOptions& options, HopScratch<Id>& scratch) {
  return make(Uniform(), options, scratch);
}

void check_one(const Uniform& /*method*/, const SampleOptions& /*options*/, const Graph& /*of*/) {}

void check_one(const Budget& /*method*/, const SampleOptions& /*options*/, const Graph& /*of*/) {}

void check_one(const Labor& method, const SampleOptions& options, const Graph& graph) {
  if (method.iterations < 0 || method.iterations > kMaxImportanceIterations)
    throw_invalid("iterations of Labor is ", method.iterations, ", expected 0 to ",
                  kMaxImportanceIterations);
  if (!method.table.empty()) check_weights(method.table, options.fanouts, graph);
}

void check_one(const Weighted& method, const SampleOptions& options, const Graph& graph) {
  check_weights(method.table, options.fanouts, graph);
}

}  // namespace

void check_method(const SampleOptions& options, const Graph& graph) {
  std::visit([&](const auto& method) { check_one(method, options, graph); }, options.method);
}

std::string why_cpu_samples(const SampleOptions& options) {
  if (std::holds_alternative<Budget>(options.method))
    return "sampling by a budget of nodes runs on the CPU";
  return "";
}

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
