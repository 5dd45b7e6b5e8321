// HostRows: rows of a Table that processors gather, and decode or round.
#pragma once

#include "tables/row_source.h"

namespace ramet {

class HostRows final : public RowSource {
 public:
  // Rows of `table` as `form` says: as they are stored, or as float32 or bfloat16.
  HostRows(Table table, RowForm form) : RowSource(std::move(form)), table_(std::move(table)) {}

  // The rows are read when the read is completed.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  class Read;

  Table table_;
};

}  // namespace ramet
