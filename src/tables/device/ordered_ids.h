// The ids of a gather in the order in which a device is to read their rows.
#pragma once

#include "placed_table.h"
#include "ramet/row_order.h"

namespace ramet {

// Memory of the stream's pool, which may be released once the gather has been given to the stream.
struct OrderedIds {
  Array ids;        // as wide as those given
  Array positions;  // uint32: which of those given each is
};

// Whether to order `num_ids` ids. kInvalidArgument for more than can be, if that is asked for.
[[nodiscard]] bool orders(const PlacedTable& placed, RowOrder order, int64_t num_ids);

// `ids` at an address of the device. Nothing waits.
[[nodiscard]] OrderedIds order_ids(const PlacedTable& placed,
                                   const void* ids,
                                   DType dtype,
                                   int64_t num_ids,
                                   CudaStreamHandle stream);

}  // namespace ramet
