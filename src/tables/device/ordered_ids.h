// The ids of a gather in the order in which a device is to read their rows.
#pragma once

#include <optional>

#include "placed_table.h"
#include "ramet/row_order.h"

namespace ramet {

// Memory of the stream's pool, which may be released once the gather has been given to the stream.
struct OrderedIds {
  Array ids;        // as wide as those given
  Array positions;  // uint32: which of those given each is
};

// `ids` at an address of the device. Nothing where they are to be read as given: so says `order`,
// or it is kAuto, and sorting does not pay, the device has no memory for it, or the stream is
// captured: a graph would use the memory when it is another's. Nothing waits. For kSorted these are
// errors: kNoSpace, and kInvalidArgument also for more ids than can be sorted.
[[nodiscard]] std::optional<OrderedIds> order_ids(const PlacedTable& placed,
                                                  RowOrder order,
                                                  const void* ids,
                                                  DType dtype,
                                                  int64_t num_ids,
                                                  CudaStreamHandle stream);

}  // namespace ramet
