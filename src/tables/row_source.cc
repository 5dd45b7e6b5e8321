#include "row_source.h"

#include <utility>

#include "cache/preloaded_rows.h"
#include "exchange/pulled_rows.h"

namespace ramet {

std::shared_ptr<const RowSource> make_pulled_source(
    const Table& rows, RowPositions positions, std::vector<bool> is_local, int rank, bool decode) {
  return std::make_shared<PulledRows>(rows, std::move(positions), std::move(is_local), rank,
                                      decode);
}

std::shared_ptr<const RowSource> with_preloaded_rows(std::shared_ptr<const RowSource> source,
                                                     int64_t num_rows,
                                                     std::span<const int64_t> ids) {
  return std::make_shared<PreloadedRows>(std::move(source), num_rows, ids);
}

}  // namespace ramet
