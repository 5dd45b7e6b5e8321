// DiskRows: rows of a Table that a RowReader reads from its files, and processors decode or round.
//
// Rows that were submitted are on their way until they are complete, whatever the caller does. The
// scale of quantized rows is read where it is mapped.
#pragma once

#include "ramet/row_reader.h"
#include "tables/row_source.h"

namespace ramet {

class DiskRows final : public RowSource {
 public:
  // Rows of `table` as `form` says: as they are stored, or as float32 or bfloat16. `reader`: of its
  // rows.
  DiskRows(Table table, RowForm form, std::shared_ptr<RowReader> reader)
      : RowSource(std::move(form)), table_(std::move(table)), reader_(std::move(reader)) {}

  [[nodiscard]] bool reads_ahead() const override { return true; }
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  class Read;

  Table table_;
  std::shared_ptr<RowReader> reader_;
};

}  // namespace ramet
