// Aggregation straight from a table: the rows of a block's sources are read in place, decoded on
// the way, and never gathered. See aggregate.h.
#pragma once

#include "ramet/aggregate.h"
#include "ramet/cuda_table.h"
#include "ramet/table.h"

namespace ramet {

// The same bits as aggregate() of the table's rows `ids`, int64[num_src or more], gathered as
// float32, or as stored if `out` has their dtype. The table is float32, float16, bfloat16 or int8
// with a scale. Weights are float32. Failure: as aggregate(); kOutOfRange for an id outside the
// table.
void aggregate_table(const BlockEdges& edges,
                     const Table& table,
                     const Array& ids,
                     const Array& out,
                     const AggregateOptions& options);

// The same sums and means on the table's device, on the stream: the other arrays lie there, `ids`
// are int64, and weights one column or none. Rows of an id or a source out of range are NaN.
void aggregate_table_on_device(const Array& indptr,
                               const Array& indices,
                               const CudaTable& table,
                               const Array& ids,
                               const Array& out,
                               const AggregateOptions& options,
                               CudaStreamHandle stream);

}  // namespace ramet
