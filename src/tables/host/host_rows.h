// HostRows: rows of a Table that processors gather, and decode.
#pragma once

#include "tables/row_source.h"

namespace ramet {

class HostRows final : public RowSource {
 public:
  HostRows(Table table, bool decode) : RowSource(table.form(decode)), table_(std::move(table)) {}

  // The rows are read when it returns.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  Table table_;
};

}  // namespace ramet
