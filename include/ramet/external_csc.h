// Builds a CSC from more edges than memory holds: the arrays that build_csc() makes, bit for bit,
// in .npy files.
//
// `add()` collects edges, groups what memory holds by ranges of destinations, and writes such a
// "run" to a temporary file while the next one is collected. `finish()` reads range by range from
// all runs, sorts what memory holds of them, and writes the rows from front to back.
//
// Memory, of M bytes that are allowed: 3/4 M for edges, the rest for buffers. With int32 ids a run
// has an edge per 20 bytes (32 if undirected), and an edge per 24 bytes (28) is sorted at once,
// less 8 bytes per row that has less than two edges. There are min(M / 4 KiB, 4096) ranges. Each
// thread reads M^2 / (70 bytes * edges * threads) bytes at a time: 8 MB with 1 GiB, two threads and
// 10^9 edges, 8 KB with 32 MiB. A range that memory does not hold is divided the same way, down to
// single rows, which are copied or, if undirected, divided by sources; each division writes and
// reads its edges once more. The result does not depend on M.
//
// Disk: the temporary file has no name, and is gone when the process ends, however it ends. It has
// 12 bytes per edge (16 with int64 ids; twice as many if undirected). What finish() has read is
// given back to the file system as it goes.
//
// One call at a time. Not for a forked child. After an exception other than of bad arguments the
// object can only be destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ramet/array.h"
#include "ramet/progress.h"

namespace ramet {

struct ExternalCscOptions {
  int64_t memory = int64_t{1} << 30;  // bytes, at least kLeastMemory
  bool undirected = false;            // as in CscOptions
  int threads = 0;                    // 0: all cores; at most one per 16 MiB of memory
};

// Paths of files, which are replaced; "" for edge ids that nobody wants.
struct CscPaths {
  std::string indptr, indices, edge_ids;
};

class ExternalCsc {
 public:
  static constexpr int64_t kLeastMemory = int64_t{1} << 20;

  // `folder`: where the temporary files are. kInvalidArgument as of build_csc(), and for less
  // memory than kLeastMemory; kNotFound, kIo.
  ExternalCsc(const std::string& folder,
              int64_t num_src,
              int64_t num_dst,
              const ExternalCscOptions& options = {});
  ~ExternalCsc();
  ExternalCsc(ExternalCsc&&) noexcept;

  // The next edges, in the order of their ids: int32 or int64, one entry per edge. Wrong arguments
  // throw as in build_csc() and add nothing. kNoSpace, kIo, naming the temporary file's folder.
  void add(const Array& src, const Array& dst);

  struct Result {
    int64_t num_edges;
    bool has_edge_ids;  // whether there is such a file; not if the id of every edge is its position
  };
  // Once, last. An exception leaves none of the files. kNoSpace, kIo, naming the file. Progress is
  // that of reading the temporary file.
  Result finish(const CscPaths& paths, const Progress& progress = {});

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ramet
