// LinkSeeds: the pairs that the items of a plan stand for, their negatives, and their distinct ends
// as seeds. docs/semantics.md, section 27.
// Immutable; any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ramet/graph.h"
#include "ramet/loader.h"
#include "sampling/links/edge_finder.h"
#include "seed_source.h"

namespace ramet {

class LinkSeeds final : public SeedSource {
 public:
  // check() has accepted the options.
  LinkSeeds(std::shared_ptr<const Graph> graph, const LoaderOptions& options);

  [[nodiscard]] int64_t num_items() const override { return num_items_; }
  [[nodiscard]] bool needs_global_items() const override { return true; }
  [[nodiscard]] SeedList take(Batch& batch, const DrawNegatives& draw) const override;

 private:
  struct Finder {
    Exclusion rule;
    std::optional<EdgeFinder> edges;  // nothing: of pairs that are edges, these alone
  };
  struct Input {
    InputEdges edges;
    int64_t first_item, num_items;
    std::vector<Finder> finders;  // of its exclusions
    // Whose rows say the degrees of ends, with InputEdges::excluded_below; or nullptr.
    const EdgeType* into_sources = nullptr;
    const EdgeType* into_destinations = nullptr;
  };
  // Pairs of one input.
  struct PairList {
    std::vector<int64_t> positions;  // among the input's
    std::vector<int64_t> sources, destinations, times;
  };
  static constexpr int64_t kKept = -1;
  // The nodes that replace the ends of a pair; kKept: that is the pair's.
  struct Negative {
    size_t pair;
    int64_t number;  // among the pair's
    int64_t source = kKept, destination = kKept;
  };
  // What a batch has of one input.
  struct BatchPairs {
    PairList pairs;
    std::vector<Negative> negatives;
  };
  class Ends;

  // The pairs among `items` that are the input's.
  [[nodiscard]] PairList pairs_of(const Input& input, std::span<const int64_t> items) const;
  [[nodiscard]] Array draw_for(const Input& input,
                               const PairList& pairs,
                               const Batch& batch,
                               const DrawNegatives& draw) const;
  [[nodiscard]] std::vector<Negative> negatives_of(const Input& input,
                                                   const PairList& pairs,
                                                   std::span<const int64_t> items,
                                                   const Batch& batch,
                                                   const DrawNegatives& draw) const;
  // of_inputs: what this rank has of the batch, by input.
  [[nodiscard]] std::vector<SeedList::Excluded> excluded_for(
      const Batch& batch, const std::vector<BatchPairs>& of_inputs) const;
  // Without the pairs whose edges InputEdges::excluded_below leaves among the messages.
  [[nodiscard]] static PairList of_low_degree(const Input& input, const PairList& pairs);
  static void append_excluded(const InputEdges& edges,
                              const Finder& finder,
                              const PairList& pairs,
                              std::vector<int64_t>& positions);

  std::shared_ptr<const Graph> graph_;
  std::vector<Input> inputs_;
  int64_t num_items_ = 0;
  bool is_disjoint_;
  LinkOrder order_;
  uint64_t seed_;
};

}  // namespace ramet
