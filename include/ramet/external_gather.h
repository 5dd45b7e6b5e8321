// Rows in another order, from and to mapped files that memory does not hold: those of edge tables,
// in the order of a CSC.
//
// out[p] = rows[ids[p]] would read a page of the file for every row. Here both files are read and
// written from front to back: the positions are sorted by their row (ExternalCsc); rows, read in
// their order, go to a temporary file with their positions, grouped by ranges of positions; then
// range by range is put in order. That writes and reads each row once more, and 20 bytes an id.
// Rows that have no more bytes than `memory` are gathered at once.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/array.h"
#include "ramet/progress.h"

namespace ramet {

struct ExternalGatherOptions {
  std::string folder;                 // of temporary files, which have no names
  int64_t memory = int64_t{1} << 30;  // bytes, without pages of files
  int threads = 0;                    // 0: all cores
};

// ids: int32 or int64, each in [0, 2 * rows): row r is both of edge r and of its reverse, rows + r.
// `out`: of the dtype and row shape of `rows`, with a row for each id. kOutOfRange naming the first
// wrong id; kInvalidArgument for arrays that do not fit each other, and for less memory than 2 MiB,
// or than 24 rows with 28 bytes beside each; kNoSpace, kIo of the temporary files. Progress is that
// of `out`. After an exception `out` has some rows.
void external_gather(const Array& rows,
                     const Array& ids,
                     const Array& out,
                     const ExternalGatherOptions& options,
                     const Progress& progress = {});

}  // namespace ramet
