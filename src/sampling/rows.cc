#include "rows.h"

#include "ramet/error.h"

namespace ramet {

void throw_bad_entry(const std::string& location,
                     int64_t position,
                     int64_t value,
                     const std::string& bound) {
  throw_error(ErrorCode::kCorrupt, location, ", entry ", position, ": ", value, " ", bound);
}

void throw_bad_row(const EdgeType& edges, int64_t row, int64_t begin, int64_t end) {
  const int64_t num_edges = edges.num_edges();
  if (static_cast<uint64_t>(end) > static_cast<uint64_t>(num_edges)) {
    throw_bad_entry(edges.indptr_location, row + 1, end, concat("is outside [0, ", num_edges, "]"));
  }
  throw_bad_entry(edges.indptr_location, row, begin,
                  concat("is outside [0, ", end, "], the end of the row"));
}

}  // namespace ramet
