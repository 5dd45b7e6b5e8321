#include "rows.h"

#include "ramet/error.h"

namespace ramet {

void refuse_entry(const std::string& place,
                  int64_t position,
                  int64_t value,
                  const std::string& bound) {
  throw Error(ErrorCode::kCorrupt, place + ", entry " + std::to_string(position) + ": " +
                                       std::to_string(value) + " " + bound);
}

void refuse_row(const EdgeType& edges, int64_t row, int64_t begin, int64_t end) {
  const int64_t num_edges = edges.num_edges();
  if (static_cast<uint64_t>(end) > static_cast<uint64_t>(num_edges)) {
    refuse_entry(edges.indptr_place, row + 1, end,
                 "is outside [0, " + std::to_string(num_edges) + "]");
  }
  refuse_entry(edges.indptr_place, row, begin,
               "is outside [0, " + std::to_string(end) + "], the end of the row");
}

}  // namespace ramet
