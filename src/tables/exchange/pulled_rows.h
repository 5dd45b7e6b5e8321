// PulledRows: rows of a table that ranks share, some of which lie on other machines: their owners
// send these. Row ids are places (whole_table.h).
//
// Every rank submits its reads in the same order, since a read is two exchanges of all of them. It
// is done when it was submitted.
#pragma once

#include <vector>

#include "ramet/row_exchange.h"
#include "tables/row_source.h"

namespace ramet {

class PulledRows final : public RowSource {
 public:
  // `rows`: by place, of which those of ranks that are `reached` are in this process's addresses.
  // `rank`: this one.
  PulledRows(Table rows, RowPlaces places, std::vector<bool> reached, int rank, bool decode)
      : RowSource(rows.form(decode)),
        rows_(std::move(rows)),
        places_(std::move(places)),
        reached_(std::move(reached)),
        rank_(rank) {}

  // context.exchange must be there.
  [[nodiscard]] std::unique_ptr<RowRead> submit(const Array& ids,
                                                const ReadContext& context) const override;

 private:
  Table rows_;
  RowPlaces places_;
  std::vector<bool> reached_;
  int rank_;
};

}  // namespace ramet
