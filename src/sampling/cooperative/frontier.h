// Frontier: the sources of a hop of one rank among several, and its edges: by processors, or by the
// rank's device. One thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "kernels/renumbering.h"
#include "sampling/cuda/cuda_frontier.h"
#include "sampling/cuda/cuda_id_exchange.h"
#include "sampling/hop_sampler.h"

namespace ramet {

// nullptr where processors sample.
template <typename Id>
std::unique_ptr<CudaIdExchange<Id>> exchange_of(CudaFrontier* device,
                                                const Membership& membership,
                                                const std::vector<AskedNodes>& names) {
  if (device == nullptr) return nullptr;
  return std::make_unique<CudaIdExchange<Id>>(device->work(), device->hop().nodes(), membership,
                                              names, device->host());
}

template <typename Id>
class Frontier {
 public:
  // All must outlive it. `device`: nullptr where processors sample. `exchange`: nullptr where the
  // host exchanges ids.
  Frontier(HopSampler<Id>& hop_sampler,
           NodeIndexes<Id>& layer,
           CudaFrontier* device,
           const CudaIdExchange<Id>* exchange)
      : hop_sampler_(hop_sampler), layer_(layer), device_(device), exchange_(exchange) {}

  // Begins a batch, whose hops draw no edges that are excluded. Throws as excluded_by_type() does.
  void start_batch(std::span<const ExcludedEdges> excluded) {
    if (device_ != nullptr) return device_->start_batch(excluded);
    hop_sampler_.exclude(excluded);
  }
  // With SampleOptions::time, before the first hop: the times of all trees.
  void start_times(const Array& seed_times) {
    if (device_ != nullptr) device_->start_times(seed_times);
    hop_sampler_.start_times(seed_times);
  }
  // The rank's nodes before a hop. `own`: those that the host knows, the seeds at least.
  [[nodiscard]] std::vector<int64_t> sizes_of_own(const NodeIndexes<Id>& own, int hop) const {
    return exchange_ != nullptr && hop > 0 ? device_->hop().sizes() : sizes(own);
  }
  // Begins a hop. The rank's nodes are the first sources.
  void start(const NodeIndexes<Id>& own, std::span<const ListRange> destinations, int hop) {
    destinations_ = destinations;
    hop_ = hop;
    num_own_ = sizes_of_own(own, hop);
    found_.resize(own.size());
    if (exchange_ != nullptr && hop > 0) return device_->go_on(destinations, hop);
    for (size_t t = 0; t < own.size(); ++t) {
      if (device_ == nullptr) {
        layer_[t].start_batch(own[t].ids());
        continue;
      }
      const auto added = own[t].ids().subspan(static_cast<size_t>(device_->num_own(t)));
      device_->new_own(t).assign(added.begin(), added.end());
      if (hop_sampler_.is_monotonic())
        device_->paths(t) = hop_sampler_.path_times().of(t, num_own_[t]);
    }
    if (device_ != nullptr) device_->start(destinations, hop);
  }

  // LABOR-i, as HopImportance has it in steps. False: the method has no importances.
  [[nodiscard]] bool start_importance() {
    if (!hop_sampler_.has_importance()) return false;
    if (device_ == nullptr) {
      importance_ = hop_sampler_.start_importance(layer_, destinations_, hop_, true);
      importance_->begin();
      return true;
    }
    device_->begin_importance();
    candidates_.resize(found_.size());
    for (size_t t = 0; t < candidates_.size(); ++t)
      candidates_[t].assign(device_->candidates(t).begin(), device_->candidates(t).end());
    return true;
  }
  [[nodiscard]] std::span<const Id> candidates(size_t type) const {
    return device_ != nullptr ? std::span<const Id>(candidates_[type]) : importance_->ids(type);
  }
  void max_reduce() { device_ != nullptr ? device_->max_reduce() : importance_->max_reduce(); }
  [[nodiscard]] std::span<double> largest_c(size_t type) {
    return device_ != nullptr ? device_->largest_c(type) : importance_->largest_c(type);
  }
  void update() { device_ != nullptr ? device_->update() : importance_->update(); }

  [[nodiscard]] std::vector<Relation> sample(const DrawKeys& step_keys) {
    if (device_ == nullptr) return hop_sampler_.sample(layer_, destinations_, step_keys, hop_);
    auto relations = device_->sample(step_keys, hop_);
    if (exchange_ != nullptr) return relations;
    device_->download_found();
    for (size_t t = 0; t < found_.size(); ++t)
      found_[t].assign(device_->found(t).begin(), device_->found(t).end());
    for (size_t t = 0; t < found_.size() && hop_sampler_.is_monotonic(); ++t)
      hop_sampler_.path_times().of(t, num_own_[t] + std::ssize(found_[t])) = device_->paths(t);
    return relations;
  }

  // The sources that are not among the rank's nodes, in the order in which they were found. For the
  // host to exchange.
  [[nodiscard]] std::span<const Id> found(size_t type) const {
    if (device_ != nullptr) return found_[type];
    return layer_[type].ids().subspan(static_cast<size_t>(num_own_[type]));
  }
  // By node type, as the hop began.
  [[nodiscard]] int64_t num_own(size_t type) const { return num_own_[type]; }
  [[nodiscard]] std::span<const int64_t> num_own() const { return num_own_; }
  [[nodiscard]] std::vector<int64_t> num_src() const {
    std::vector<int64_t> result;
    for (size_t t = 0; t < num_own_.size(); ++t)
      result.push_back(num_own_[t] +
                       (exchange_ != nullptr ? exchange_->num_found(t) : std::ssize(found(t))));
    return result;
  }

  // Changes the local ids of the sources. The table stays until the next hop, or the
  // end of the batch. It is where ids are exchanged.
  void renumber(const Relation& relation, const Renumbering& numbers) const {
    if (numbers.size == 0) return;
    if (exchange_ != nullptr) return device_->renumber(relation, numbers);
    if (device_ != nullptr) return device_->renumber_by_host(relation, numbers);
    auto* local = static_cast<int32_t*>(relation.indices.data);
    constexpr int64_t kGrain = 1 << 16;
    parallel_for(relation.indices.rows(), kGrain, hop_sampler_.options().threads,
                 [&](int64_t begin, int64_t end) {
                   const Renumbering now = numbers;
                   for (int64_t e = begin; e < end; ++e)
                     local[e] = now.of(local[e]);
                 });
  }

  // Waits for what is under way.
  void wait() const {
    if (device_ != nullptr) device_->wait();
  }
  // The same, after all hops of a batch, whose nodes may be the device's.
  void finish_batch(Minibatch& batch) const {
    if (device_ == nullptr) return;
    if (exchange_ != nullptr && !batch.blocks.empty()) {  // without hops the host alone has nodes
      auto [n_id, trees] = device_->hop().take_lists();
      batch.n_id = std::move(n_id);
      batch.trees = std::move(trees);
    }
    device_->finish_batch();
  }

 private:
  HopSampler<Id>& hop_sampler_;
  NodeIndexes<Id>& layer_;
  CudaFrontier* const device_;
  const CudaIdExchange<Id>* const exchange_;
  std::vector<int64_t> num_own_;
  std::span<const ListRange> destinations_;
  int hop_ = 0;
  HopImportance<Id>* importance_ = nullptr;          // by processors
  std::vector<std::vector<Id>> found_, candidates_;  // by the device
};

}  // namespace ramet
