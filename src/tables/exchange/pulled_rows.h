// PulledRows: rows of a table that ranks share, some of which lie on other machines: their owners
// send these. Row ids are positions (whole_table.h).
//
// A read is two exchanges of all ranks, in the thread of their group: every rank has the same reads
// in the same order. Failure: of the exchange, and kCorrupt for what other ranks send.
#pragma once

#include <vector>

#include "ramet/row_exchange.h"
#include "tables/row_source.h"

namespace ramet {

class PulledRows final : public RowSource {
 public:
  // `rows`: by position, of which those of ranks that are local are in this process's addresses.
  // `rank`: this one.
  PulledRows(Table rows, RowPositions positions, std::vector<bool> is_local, int rank, bool decode)
      : RowSource(rows.form(decode)),
        rows_(std::move(rows)),
        positions_(std::move(positions)),
        is_local_(std::move(is_local)),
        rank_(rank) {}

  [[nodiscard]] bool reads_ahead() const override { return true; }
  [[nodiscard]] std::vector<NodeRange> local_ranges() const override;
  // context.exchanges must be there.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  class Read;

  Table rows_;
  RowPositions positions_;
  std::vector<bool> is_local_;
  int rank_;
};

}  // namespace ramet
