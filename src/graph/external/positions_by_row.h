// The transpose of a CSC whose destinations are rows and whose sources are positions: which
// positions want each row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/error.h"
#include "ramet/external_csc.h"
#include "ramet/external_order.h"
#include "ramet/row_files.h"
#include "storage/unnamed_file.h"

namespace ramet {

// In mapped files: positions by row, ascending within one, and where those of each row begin.
struct PositionsByRow {
  Array begin, positions;
};

inline Array map_npy(const Fd& file) {
  const RowFile rows = inspect_npy(path_of(file));
  return map_rows(std::span(&rows, 1), rows.rows());
}

// rows_of(begin, end, to) gives the rows of these positions.
template <typename RowsOf>
PositionsByRow sort_positions(int64_t num_positions,
                              int64_t num_rows,
                              const RowsOf& rows_of,
                              const ExternalOptions& options,
                              const Progress& progress) {
  constexpr int64_t kAtOnce = 1 << 12;
  ExternalCsc csc(options.folder, num_positions, num_rows,
                  {.memory = options.memory / 8 * 7, .threads = options.threads});
  std::vector<int64_t> positions(kAtOnce), rows(kAtOnce);
  for (int64_t begin = 0; begin < num_positions; begin += kAtOnce) {
    const int64_t end = std::min(begin + kAtOnce, num_positions);
    const auto count = static_cast<size_t>(end - begin);
    rows_of(begin, end, rows.data());
    std::iota(positions.begin(), positions.end(), begin);
    csc.add(borrow(std::span<const int64_t>(positions).first(count)),
            borrow(std::span<const int64_t>(rows).first(count)));
  }
  const Fd begin = create_unnamed_file(options.folder),
           by_row = create_unnamed_file(options.folder);
  csc.finish({path_of(begin), path_of(by_row), ""}, progress);
  return {map_npy(begin), map_npy(by_row)};
}

inline void require_external(const ExternalOptions& options, int64_t least) {
  if (options.threads < 0) throw_invalid("threads is ", options.threads, ", expected >= 0");
  if (options.memory < least)
    throw_invalid("memory is ", options.memory, " bytes, expected at least ", least);
}

}  // namespace ramet
