// PreloadedRows: another source, with some of its rows in memory in front of it: those that are
// asked for most, chosen beforehand. Immutable, so threads read it without a lock, and hits depend
// on the ids alone. Memory: these rows as they are handed out, and 4 bytes for each row of the
// table.
#pragma once

#include <span>
#include <vector>

#include "tables/row_source.h"

namespace ramet {

class PreloadedRows final : public RowSource {
 public:
  // `source`: has `num_rows` rows in host memory. `ids`: rows to keep; the constructor reads them.
  PreloadedRows(std::shared_ptr<const RowSource> source,
                int64_t num_rows,
                std::span<const int64_t> ids);

  [[nodiscard]] bool reads_ahead() const override { return source_->reads_ahead(); }
  // Rows that are not here are submitted to the source. An id that is no row of the table is the
  // source's error.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  class Read;

  [[nodiscard]] const char* kept(int64_t id) const;  // nullptr where it is not here

  std::shared_ptr<const RowSource> source_;
  std::vector<int32_t> slot_of_row_;  // -1: not here
  Array rows_;                        // by slot
};

}  // namespace ramet
