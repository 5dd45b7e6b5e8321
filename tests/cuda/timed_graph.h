// Graphs whose edges or nodes have times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "ramet/random.h"

namespace ramet::test {

inline constexpr int64_t kTimedNodes = 300, kTimedEdges = 2800;
inline constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
enum class Rows { kSorted, kUnsorted, kFalselySorted };

// Times 0 to 99, of edges or of nodes, many of them equal and some extreme; and weights.
inline std::shared_ptr<const Graph> timed_graph(bool of_edges, Rows rows) {
  const Csc csc =
      csc_of(uneven_edges(kTimedNodes, kTimedNodes, kTimedEdges, 12), kTimedNodes, kTimedNodes);
  std::vector<int64_t> times;
  for (uint64_t i = 0; i < static_cast<uint64_t>(of_edges ? kTimedEdges : kTimedNodes); ++i) {
    const auto word = mix64(i);
    times.push_back(word % 40 == 0   ? kEarliest
                    : word % 40 == 1 ? kLatest
                                     : static_cast<int64_t>(word % 100));
  }
  const auto indptr = csc.indptr.as<int64_t>();
  auto* const sources = static_cast<int32_t*>(csc.indices.data);
  for (size_t v = 0; v + 1 < indptr.size() && rows == Rows::kSorted; ++v) {
    if (of_edges)
      std::sort(times.begin() + indptr[v], times.begin() + indptr[v + 1]);
    else
      std::stable_sort(sources + indptr[v], sources + indptr[v + 1], [&](int32_t a, int32_t b) {
        return times[static_cast<size_t>(a)] < times[static_cast<size_t>(b)];
      });
  }
  const std::vector<float> weights = uneven_weights<float>(csc);
  StoreContents contents = one_type(csc, kTimedNodes);
  const std::string array = of_edges ? "edge/node__to__node/time" : "node/node/time";
  contents.arrays.emplace_back(array, borrow(times));
  contents.arrays.emplace_back("edge/node__to__node/w", borrow(weights));
  if (rows != Rows::kUnsorted) contents.sorted_rows["node__to__node"] = array;
  return graph_of(contents);
}

}  // namespace ramet::test
