// The arrays of a batch, one after the other.
#pragma once

#include <vector>

#include "ramet/loader.h"

namespace ramet {

// Calls body(array) for every array of `batch` that has data.
template <typename Body>
void for_each_array(const Batch& batch, Body&& body) {
  const auto visit = [&](const Array& array) {
    if (array.data != nullptr) body(array);
  };
  for_each_array(batch.minibatch, visit);
  for (const Array& rows : batch.tables)
    visit(rows);
  for (const auto& [edge_index, edge_ids] : batch.edges) {
    visit(edge_index);
    visit(edge_ids);
  }
  for (const TableMeans& means : batch.means)
    visit(means.rows);
  for (const auto& [indptr, indices, edges] : batch.transposed) {
    visit(indptr);
    visit(indices);
    visit(edges);
  }
}

// From now on these streams, and no others, use the arrays; none: the work of all streams is done.
void set_streams(const Batch& batch, const std::vector<CudaStreamHandle>& streams);

}  // namespace ramet
