#include "ramet/whole_table.h"

#include <utility>

#include "ramet/error.h"
#include "ramet/table_rows.h"

namespace ramet {

WholeTable::WholeTable(Table rows_by_place, RowPlaces places)
    : rows_(std::move(rows_by_place)), places_(std::move(places)) {
  if (rows_.rows().rows() != places_.num_places())
    throw_invalid(rows_.rows().rows(), " rows for ", places_.num_places(), " places");
}

std::vector<int64_t> WholeTable::places_of(std::span<const int64_t> ids, int threads) const {
  std::vector<int64_t> places(ids.size());
  places_.look_up(ids, places.data(), threads);
  return places;
}

void WholeTable::gather(std::span<const int64_t> ids, void* out, int threads) const {
  rows_.gather(places_of(ids, threads), out, threads);
}

Array WholeTable::gather(std::span<const int64_t> ids, int threads) const {
  return rows_.gather(places_of(ids, threads), threads);
}

void WholeTable::gather_float32(std::span<const int64_t> ids, float* out, int threads) const {
  rows_.gather_float32(places_of(ids, threads), out, threads);
}

Array WholeTable::gather_float32(std::span<const int64_t> ids, int threads) const {
  return rows_.gather_float32(places_of(ids, threads), threads);
}

void WholeTable::set_rows(std::span<const int64_t> ids, const Array& rows, int threads) const {
  const std::vector<int64_t> places = places_of(ids, threads);
  const RowList list{places, rows};
  ramet::set_rows(rows_.rows(), std::span(&list, 1), {0, places_.num_places()}, threads);
}

void WholeTable::sum_rows(std::span<const int64_t> ids, const Array& rows, int threads) const {
  const std::vector<int64_t> places = places_of(ids, threads);
  const RowList list{places, rows};
  ramet::sum_rows(rows_.rows(), std::span(&list, 1), {0, places_.num_places()}, threads);
}

Array WholeTable::piece(int64_t part) const {
  const NodeRange places = places_.places_of(part);
  Array rows = rows_.rows();
  rows.data = static_cast<char*>(rows.data) + places.begin * rows.row_bytes();
  rows.shape[0] = places.size();
  return rows;
}

}  // namespace ramet
