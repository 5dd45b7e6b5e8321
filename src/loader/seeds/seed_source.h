// SeedSource: what the items of a plan stand for. Nodes (node_seeds.h), pairs of nodes, whose
// distinct ends are a batch's seeds (link_seeds.h), or sets of nodes (subgraph_seeds.h).
// Immutable; any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "batch_plan.h"
#include "ramet/loader.h"
#include "ramet/negatives.h"
#include "ramet/sampler.h"

namespace ramet {

// Seeds that own their ids, and the edges that no hop draws for them.
struct SeedList {
  struct OfType {
    int type = 0;
    std::vector<int64_t> ids = {}, times = {};
  };
  struct Excluded {
    int edge_type = 0;
    std::vector<int64_t> positions = {};  // ascending, each once
  };
  std::vector<OfType> types = {};
  std::vector<Excluded> excluded = {};

  // Valid as long as the list.
  [[nodiscard]] std::vector<Seeds> view() const;
  [[nodiscard]] std::vector<ExcludedEdges> view_excluded() const;
};

// draw_negatives(), or the same by a device, for the pairs of an input.
using DrawNegatives = FunctionRef<Array(size_t input, const Pairs&, const NegativeOptions&)>;

class SeedSource {
 public:
  virtual ~SeedSource() = default;

  [[nodiscard]] virtual int64_t num_items() const = 0;
  // Whether take() reads batch.global_items.
  [[nodiscard]] virtual bool needs_global_items() const { return false; }
  // The seeds of a batch whose items are in batch.input_id. Leaves there the positions among the
  // inputs of their kind, and in batch.links what pairs there are.
  [[nodiscard]] virtual SeedList take(Batch& batch, const DrawNegatives& draw) const = 0;
  [[nodiscard]] SeedList take(Batch& batch) const {
    return take(batch, [](size_t, const Pairs& pairs, const NegativeOptions& options) {
      return draw_negatives(pairs, options);
    });
  }
};

// Gives `batch` its epoch and step, and the items of this rank.
void begin_batch(const SeedSource& seeds,
                 const BatchPlan& plan,
                 int64_t epoch,
                 int64_t step,
                 BufferPool& pool,
                 Batch& batch);

// The rows of `ids`, one after another: values[item] of each item, where values are numbers.
[[nodiscard]] std::vector<int64_t> rows_at(const Array& ids, std::span<const int64_t> items);

[[nodiscard]] inline std::span<int64_t> mutable_items(Batch& batch) {
  return {static_cast<int64_t*>(batch.input_id.data), static_cast<size_t>(batch.input_id.rows())};
}

}  // namespace ramet
