// Orders of what memory does not hold, in mapped files: rows of edge tables in the order of a CSC,
// and the order of keys.
//
// Files are read and written from front to back, by way of temporary files without names in
// `folder`. After an exception the result has some of its entries. Errors of both: kInvalidArgument
// for arrays that do not fit each other, negative threads, and less than kLeastOrderMemory;
// kNoSpace, kIo of the temporary files.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/array.h"
#include "ramet/progress.h"

namespace ramet {

inline constexpr int64_t kLeastOrderMemory = int64_t{2} << 20;

struct ExternalOptions {
  std::string folder;                 // of temporary files
  int64_t memory = int64_t{1} << 30;  // bytes, without pages of files
  int threads = 0;                    // 0: all cores
};

// out[p] = rows[ids[p]]. Positions are sorted by their row (ExternalCsc); rows, read in their
// order, go to a temporary file with their positions, grouped by ranges of positions; then range by
// range is put in order. That writes and reads each row once more, and 20 bytes an id. Rows that
// have no more bytes than `memory` are gathered at once.
//
// ids: int32 or int64, each in [0, 2 * rows): row r is both of edge r and of its reverse, rows + r.
// `out`: of the dtype and row shape of `rows`, with a row for each id. kOutOfRange naming the first
// wrong id; kInvalidArgument for memory of less than 24 rows with 28 bytes beside each. Progress is
// that of `out`.
void external_gather(const Array& rows,
                     const Array& ids,
                     const Array& out,
                     const ExternalOptions& options,
                     const Progress& progress = {});

// The positions of `keys` in ascending order of the keys; equal keys stay in their order. Keys are
// grouped by their highest bits that differ (ExternalCsc), and groups sorted in memory; a group
// that memory does not hold is grouped again. Both arrays are int64, of the same length. Progress
// is that of `order`.
void external_argsort(const Array& keys,
                      const Array& order,
                      const ExternalOptions& options,
                      const Progress& progress = {});

}  // namespace ramet
