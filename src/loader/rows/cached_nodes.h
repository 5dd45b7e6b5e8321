// Which rows of a node table a cache holds that does not change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "loader/seeds/seed_source.h"
#include "ramet/loader.h"

namespace ramet {

// The seeds of a step of the first epoch.
using SeedsOfStep = std::function<SeedList(int64_t step)>;

// How much the nodes of a type are used: by node, and of equal counts by the second ones, if any.
struct NodeUses {
  std::vector<int64_t> counts, second_counts = {};
};

// The edges that each node is the source of. Reads every edge once; of a part, those that it has.
[[nodiscard]] NodeUses uses_by_degree(const Graph& graph, int type);

// In how many of the first `num_steps` batches each node is, which are sampled on the CPU: once in
// a batch that has it twice, as a seed or in several trees. Second, its out-edges.
[[nodiscard]] NodeUses uses_by_presampling(std::shared_ptr<const Graph> graph,
                                           const LoaderOptions& options,
                                           const SeedsOfStep& seeds,
                                           int64_t num_steps,
                                           int type);

inline constexpr int64_t kPresampledSteps = 20;

// By which a cache chooses that holds rows by kDegree or kPresampling. Presamples the first
// kPresampledSteps of the loader's `num_steps`, unless ranks have done so:
// CooperativeOptions::presampled.
[[nodiscard]] NodeUses count_uses(const std::shared_ptr<const Graph>& graph,
                                  const LoaderOptions& options,
                                  const SeedsOfStep& seeds,
                                  int64_t num_steps,
                                  int type,
                                  CacheBy by);

// At most `count` node ids, ascending: of those that are used most; of equal ones, the lower ids.
// `among`: int64, ascending; nothing: all nodes.
[[nodiscard]] std::vector<int64_t> hottest_nodes(const NodeUses& uses,
                                                 int64_t count,
                                                 const std::optional<Array>& among = std::nullopt);

// The nodes whose rows a cache in front of the table is for, int64, ascending: those of other
// machines, where rows are pulled; a rank's own, where ranks cooperate, and in a part; else
// nothing, which is all nodes.
[[nodiscard]] std::optional<Array> nodes_behind_cache(const Graph& graph,
                                                      const TableRequest& request,
                                                      const std::optional<Membership>& membership);

// int64: the rows of the table that a cache of `count` rows in front of it holds.
[[nodiscard]] Array hottest_rows_of(const Graph& graph,
                                    const LoaderOptions& options,
                                    const TableRequest& request,
                                    const NodeUses& uses,
                                    int64_t count);

// The edges that each node is the source of, among 2^27 at most, evenly spread stretches of them.
[[nodiscard]] std::vector<int64_t> uses_by_some_edges(const Graph& graph, int type);

// How often each of the `num_rows` rows of a node table may be used: as its node is the source of
// edges. Of larger graphs some of the edges, about 2^27, are counted.
[[nodiscard]] std::vector<int64_t> uses_by_row(const Graph& graph,
                                               const TableRequest& request,
                                               int64_t num_rows);

}  // namespace ramet
