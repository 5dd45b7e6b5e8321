// CudaHop: one hop of sampling on a device, all edge types of it.
//
// The host has to know how far the device has got. It reads how many picks the rows give, or
// in-edges, where each is looked at. Where times are in no order, it reads the same of what they
// leave, and with LABOR by weights of what weights leave. Then it reads how many were accepted, and
// at the end how many nodes there are. All edge types take each of these steps before the host
// waits for it: two to five times in a hop, once more with LABOR-i.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "cuda_importance.h"
#include "cuda_nodes.h"
#include "cuda_relation_builder.h"
#include "cuda_work.h"
#include "ramet/cuda_sampler.h"
#include "sampling/relation_keys.h"

namespace ramet {

class CudaHop {
 public:
  // All must outlive it.
  CudaHop(const CudaWork& work,
          const CudaGraph& graph,
          const SampleOptions& options,
          std::span<const TreeKeys> tree_keys,
          RowOrder order);

  // With SampleOptions::time, before the first hop of a batch: what each tree allows.
  void start_batch(std::span<const TimeSpan> seed_spans);

  // The edges that no hop of the next batch draws. Throws as excluded_by_type() does.
  void exclude(std::span<const ExcludedEdges> excluded);

  // The nodes of the batch, in the order of Graph::node_types(), whose numbers are known.
  [[nodiscard]] std::vector<CudaNodes>& nodes() { return nodes_; }

  // The sizes of their lists.
  [[nodiscard]] std::vector<int64_t> sizes() const;
  [[nodiscard]] NodeLists take_lists() const;

  // Samples in-edges of the nodes at `destinations`, by type, and adds those that are reached.
  // `stop`, where given, is looked at between iterations of LABOR-i.
  [[nodiscard]] Block sample(std::span<const ListRange> destinations,
                             const DrawKeys& step_keys,
                             int hop,
                             const std::atomic<bool>* stop);
  // The same in two halves. Between them ranks that cooperate iterate, all together, over the
  // importances of LABOR-i, whose candidates are known then; nullptr for other methods.
  void begin(std::span<const ListRange> destinations, int hop);
  [[nodiscard]] CudaImportances* importances() { return importances_.get(); }
  void max_reduce() { importances_->max_reduce(sound_); }
  [[nodiscard]] Block finish(const DrawKeys& step_keys, int hop);

 private:
  using Relations = std::span<CudaRelationBuilder>;

  [[nodiscard]] bool is_monotonic() const { return options_.time && options_.time->monotonic; }
  void start_relations(std::span<const ListRange> destinations, int hop);
  [[nodiscard]] Relations sound_relations();
  [[nodiscard]] Relations filter(Relations relations);
  [[noreturn]] void throw_unsound(size_t edge_type) const;
  void find_candidates(Relations relations);
  [[nodiscard]] Relations mark(Relations relations, const DrawKeys& step_keys, int hop);
  void take(Relations relations, const DrawKeys& step_keys, int hop);
  void check_sources(Relations relations, bool are_candidates);
  [[nodiscard]] const double* importances(const CudaRelationBuilder& relation) const;
  [[nodiscard]] CudaDraws draws(size_t edge_type, const DrawKeys& step_keys, int hop) const;

  // The numbers of the report.
  [[nodiscard]] size_t bad_row(size_t edge_type) const { return edge_type; }
  [[nodiscard]] size_t bad_pick(size_t edge_type) const { return num_relations_ + edge_type; }
  [[nodiscard]] size_t edges(size_t edge_type) const { return 2 * num_relations_ + edge_type; }
  [[nodiscard]] size_t num_nodes(size_t type) const { return 3 * num_relations_ + type; }
  [[nodiscard]] size_t num_candidates(size_t type) const { return num_nodes(num_types_) + type; }

  const CudaWork& work_;
  const SampleOptions& options_;
  const RelationKeys keys_;
  const Graph& graph_;
  const size_t num_relations_, num_types_;
  CudaReport report_;
  CudaRelationScratch scratch_;
  std::vector<CudaNodes> nodes_;
  std::vector<CudaRelationBuilder> relations_;
  Relations sound_;                               // those that begin() found nothing wrong with
  Block block_;                                   // of the hop
  std::unique_ptr<CudaImportances> importances_;  // of LABOR-i
  std::vector<CudaSpan> host_spans_;              // which is copied while a batch begins
  CudaScratchArray<CudaSpan> spans_memory_;
  CudaScratchArray<int64_t> excluded_memory_;
  std::vector<CudaExcluded> excluded_;  // the device's, by edge type
  const CudaSpan* spans_ = nullptr;     // the device's, by tree, where there are times
  CudaScratchArray<double> tables_memory_;
  NormalTables tables_;  // the device's
};

}  // namespace ramet
