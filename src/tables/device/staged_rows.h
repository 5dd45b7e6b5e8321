// StagedRows: rows that another source hands out in page-locked memory, copied to a device.
#pragma once

#include "tables/row_source.h"

namespace ramet {

class StagedRows final : public RowSource {
 public:
  // `host`: a source of rows in host memory.
  explicit StagedRows(std::shared_ptr<const RowSource> host)
      : RowSource(host->form()), host_(std::move(host)) {}

  // The rows are gathered when it returns, and the stream copies them.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  std::shared_ptr<const RowSource> host_;
};

}  // namespace ramet
