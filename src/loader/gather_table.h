// The rows of one table that belong to a batch.
#pragma once

#include "ramet/loader.h"
#include "row_cache.h"

namespace ramet {

[[nodiscard]] Table table_of(const NeighborLoader& loader, const TableRequest& request);

// How rows of a table are handed out: decoded where the loader decodes and they are encoded.
struct TableForm {
  DType dtype;
  int64_t row_bytes;
};

[[nodiscard]] TableForm form_of(const NeighborLoader& loader, const TableRequest& request);

// Into a buffer of the loader's pool; through `cache`, where there is one.
[[nodiscard]] Array gather_table(const NeighborLoader& loader,
                                 const TableRequest& request,
                                 const Minibatch& minibatch,
                                 RowCache* cache = nullptr);

}  // namespace ramet
