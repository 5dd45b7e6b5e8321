// The rows of an edge type as kernels read them (kernels/cuda_csc.h).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda_csc.h"
#include "ramet/cuda_sampler.h"

namespace ramet {

// sums: a float64 edge table, times: an int64 one, or "". The caller ensures that they are there.
inline CudaEdgeRows edge_rows(const CudaGraph& graph,
                              int edge_type,
                              const std::string& sums,
                              const std::string& times) {
  const auto type = static_cast<size_t>(edge_type);
  const EdgeType& edges = graph.graph()->edge_types()[type];
  const NodeType& sources = graph.graph()->node_types()[static_cast<size_t>(edges.src)];
  const auto table = [&](const std::string& name) -> const void* {
    return name.empty() ? nullptr : graph.table(edges.tables.at(name));
  };
  return {.edges = {.indptr = graph.indptr(type),
                    .indices = graph.indices(type),
                    .wide_ids = edges.indices.dtype == DType::kInt64,
                    .num_edges = edges.num_edges(),
                    .num_src_nodes = sources.num_nodes},
          .num_rows = edges.indptr.rows() - 1,
          .sums = static_cast<const double*>(table(sums)),
          .times = static_cast<const int64_t*>(table(times))};
}

}  // namespace ramet
