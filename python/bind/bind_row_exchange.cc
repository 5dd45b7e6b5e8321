#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/error.h"
#include "ramet/row_exchange.h"
#include "ramet/table_rows.h"

namespace ramet::bind {

namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Room = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// (ids, rows, whether the rows are the bits of bfloat16) of each list.
using Lists = std::vector<std::tuple<Ids, AnyArray, bool>>;

std::vector<RowList> borrow_lists(const Lists& lists) {
  std::vector<RowList> borrowed;
  for (const auto& [ids, rows, bfloat16] : lists) {
    borrowed.push_back({borrow(ids), borrow(rows)});
    if (bfloat16) borrowed.back().rows.dtype = DType::kBFloat16;
  }
  return borrowed;
}

using WriteRows = void (*)(const Array&, std::span<const RowList>, NodeRange, int);

template <WriteRows kWrite>
void write(const Table& table, const Lists& lists, std::pair<int64_t, int64_t> own, int threads) {
  const std::vector<RowList> borrowed = borrow_lists(lists);
  const GilRelease release;
  kWrite(table.rows(), borrowed, {own.first, own.second}, threads);
}

void pack_into(const Lists& lists, const Room& out, int threads) {
  const std::vector<RowList> borrowed = borrow_lists(lists);
  const int64_t bytes = packed_bytes(borrowed), room = static_cast<int64_t>(out.size());
  if (bytes > room) throw_invalid(bytes, " bytes do not fit into ", room);
  const GilRelease release;
  pack(borrowed, reinterpret_cast<std::byte*>(out.data()), threads);
}

// (ids, rows) of each list, views that keep the bytes alive. `like`: a table whose rows these are
// for, by place.
std::vector<nb::tuple> unpack_from(const Bytes& bytes,
                                   const Table& like,
                                   const std::string& sender) {
  const Array kept = keep(AnyArray(bytes), false);
  const auto lists =
      unpack(std::as_bytes(kept.as<uint8_t>()), like.form(false), like.rows().rows(), sender);
  std::vector<nb::tuple> result;
  for (RowList list : lists) {
    Array ids = ramet::borrow(list.ids);
    ids.owner = list.rows.owner = kept.owner;
    result.push_back(nb::make_tuple(to_numpy(ids), to_numpy(list.rows)));
  }
  return result;
}

}  // namespace

void bind_row_exchange(nb::module_& m) {
  m.def("set_rows", &write<set_rows>, nb::arg("table"), nb::arg("lists").noconvert(), nb::kw_only(),
        nb::arg("own"), nb::arg("threads"));
  m.def("sum_rows", &write<sum_rows>, nb::arg("table"), nb::arg("lists").noconvert(), nb::kw_only(),
        nb::arg("own"), nb::arg("threads"));
  m.def("packed_bytes", [](const Lists& lists) { return packed_bytes(borrow_lists(lists)); });
  m.def("pack", &pack_into, nb::arg("lists").noconvert(), nb::arg("out").noconvert(), nb::kw_only(),
        nb::arg("threads"));
  m.def("unpack", &unpack_from, nb::arg("bytes").noconvert(), nb::kw_only(), nb::arg("like"),
        nb::arg("sender"));
}

}  // namespace ramet::bind
