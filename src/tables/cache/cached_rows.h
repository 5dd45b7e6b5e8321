// CachedRows: another source, with the rows in front of it that were used last (RowCache). Worth it
// where reading a row costs more than copying it: from a disk, or over a link.
#pragma once

#include <mutex>

#include "row_cache.h"
#include "tables/row_source.h"

namespace ramet {

class CachedRows final : public RowSource {
 public:
  // `source`: of `num_rows` rows in host memory. `capacity`: the most rows to keep.
  CachedRows(std::shared_ptr<const RowSource> source, int64_t num_rows, int64_t capacity)
      : RowSource(source->form()),
        source_(std::move(source)),
        cache_(capacity, num_rows, form().row_bytes()) {}

  // Rows that are here are copied when it returns; the others are submitted to the source. The ids
  // must be rows of the table.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  class Read;

  std::shared_ptr<const RowSource> source_;
  mutable std::mutex mutex_;  // of cache_
  mutable RowCache cache_;
};

}  // namespace ramet
