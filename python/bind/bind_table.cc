#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "device_array.h"
#include "gil.h"
#include "ramet/buffer_pool.h"
#include "ramet/content_hash.h"
#include "ramet/error.h"
#include "ramet/table.h"
#include "ramet/table_rows.h"
#include "ramet/whole_table.h"

namespace ramet::bind {

namespace {

using List = std::span<const int64_t>;

// Where `out` is given: into it, and nothing is returned. Python has checked that it fits.
template <typename Rows>
Array gather(
    const Rows& table, List ids, int threads, bool decode, const std::optional<OutArray>& out) {
  if (!out) return decode ? table.gather_float32(ids, threads) : table.gather(ids, threads);
  if (decode)
    table.gather_float32(ids, static_cast<float*>(out->data), threads);
  else
    table.gather(ids, out->data, threads);
  return {};
}

void set_list(const Table& table, List ids, const Array& rows, int threads) {
  const RowList list{ids, rows};
  set_rows(table.rows(), std::span(&list, 1), {0, table.rows().rows()}, threads);
}

void sum_list(const Table& table, List ids, const Array& rows, int threads) {
  const RowList list{ids, rows};
  sum_rows(table.rows(), std::span(&list, 1), {0, table.rows().rows()}, threads);
}

void set_list(const WholeTable& table, List ids, const Array& rows, int threads) {
  table.set_rows(ids, rows, threads);
}

void sum_list(const WholeTable& table, List ids, const Array& rows, int threads) {
  table.sum_rows(ids, rows, threads);
}

// `bfloat16`: `rows` holds the bits.
template <typename Rows, void (*kWrite)(const Rows&, List, const Array&, int)>
void write(const Rows& table, List ids, const AnyRows& rows, bool bfloat16, int threads) {
  kWrite(table, ids, borrow(rows, bfloat16), threads);
}

void init(const Table& table,
          Distribution distribution,
          uint64_t seed,
          List ids,
          int64_t num_rows,
          int threads) {
  init_rows(table.rows(), distribution, seed, ids, num_rows, threads);
}

// What a Table and a WholeTable have in common.
template <typename Rows>
void bind_rows(nb::class_<Rows>& type) {
  type.def("gather", &gather<Rows>, nb::arg("ids").noconvert(), nb::kw_only(), nb::arg("threads"),
           nb::arg("decode"), nb::arg("out").noconvert().none(), nb::call_guard<GilRelease>())
      .def("set_rows", &write<Rows, set_list>, nb::arg("ids").noconvert(),
           nb::arg("rows").noconvert(), nb::kw_only(), nb::arg("bfloat16"), nb::arg("threads"),
           nb::call_guard<GilRelease>())
      .def("sum_rows", &write<Rows, sum_list>, nb::arg("ids").noconvert(),
           nb::arg("rows").noconvert(), nb::kw_only(), nb::arg("bfloat16"), nb::arg("threads"),
           nb::call_guard<GilRelease>());
}

Array as_numpy(const Table& table) {
  if (table.rows().device != kHost)
    throw_invalid(table.name(), " lies on device ", table.rows().device,
                  ", where numpy has no arrays");
  return table.rows();
}

// Rows [begin, end): a view.
Table part(const Table& table, int64_t begin, int64_t end) {
  Array rows = table.rows();
  if (begin < 0 || begin > end || end > rows.rows())
    throw_invalid("rows [", begin, ", ", end, ") of ", rows.rows());
  rows.data = static_cast<char*>(rows.data) + begin * rows.row_bytes();
  rows.shape[0] = end - begin;
  return Table(rows, table.name());
}

std::pair<int64_t, int64_t> positions_of(const RowPositions& positions, int64_t part) {
  const NodeRange range = positions.positions_of(part);
  return {range.begin, range.end};
}

Array look_up(const RowPositions& positions, List ids) {
  const auto found = std::make_shared<std::vector<int64_t>>(ids.size());
  positions.look_up(ids, found->data());
  return {found->data(), DType::kInt64, {std::ssize(ids)}, found, true};
}

void bind_positions(nb::module_& m) {
  nb::class_<RowPositions>(m, "RowPositions")
      .def_static("dense", &RowPositions::dense, nb::arg("ranges"))
      .def_static(
          "strided",
          [](const Ownership& owners, int64_t stride, const std::optional<Array>& map) {
            return RowPositions::strided(owners, stride, map.value_or(Array{}));
          },
          nb::arg("owners"), nb::arg("stride"), nb::arg("map").noconvert().none())
      .def_prop_ro("num_rows", &RowPositions::num_rows)
      .def_prop_ro("num_positions", &RowPositions::num_positions)
      .def_prop_ro("parts", &RowPositions::parts)
      .def_prop_ro("is_dense", &RowPositions::is_dense)
      .def_prop_ro("stride", &RowPositions::stride)
      .def_prop_ro("owners", &RowPositions::owners, nb::rv_policy::copy)
      .def("positions_of", &positions_of, nb::arg("part"))
      .def("look_up", &look_up, nb::arg("ids").noconvert())
      .def("owned", &RowPositions::owned, nb::arg("part"));
  m.def("stride_of", &stride_of, nb::arg("owners"), nb::arg("row_bytes"));
  m.def(
      "map_itemsize",
      [](const Ownership& owners, int64_t stride) { return item_size(map_dtype(owners, stride)); },
      nb::arg("owners"), nb::arg("stride"));
  m.def("write_map", writes<2>(&write_map), nb::arg("owners"), nb::arg("stride"),
        nb::arg("out").noconvert(), nb::call_guard<GilRelease>());
}

}  // namespace

void bind_table(nb::module_& m) {
  m.def(
      "copied", [](const Array& array) { return copy(array, *BufferPool::shared()); },
      nb::arg("array").noconvert(), nb::call_guard<GilRelease>());
  // Both with the GIL: nobody who needs it can give the memory back meanwhile.
  m.def(
      "gather_held",
      [](const StridedArray& rows, const Ids& ids, int threads) {
        return gather(borrow_rows(rows), borrow(ids), threads);
      },
      nb::arg("rows").noconvert(), nb::arg("ids").noconvert(), nb::kw_only(), nb::arg("threads"));
  m.def(
      "content_hash",
      [](const Array& array, int threads) {
        const ContentHash hash = content_hash(
            {static_cast<const std::byte*>(array.data), size_t(array.bytes())}, threads);
        return nb::bytes(hash.data(), sizeof(hash));
      },
      nb::arg("array").noconvert(), nb::kw_only(), nb::arg("threads"));
  nb::enum_<Distribution>(m, "Distribution")
      .value("normal", Distribution::kNormal)
      .value("uniform", Distribution::kUniform)
      .value("xavier", Distribution::kXavier);
  nb::class_<Table> table(m, "Table");
  table
      .def(
          "__init__",
          [](Table* self, const AnyArray& rows, const std::optional<Array>& scale, bool bfloat16,
             bool writable) {
            new (self) Table(keep(rows, writable, bfloat16), scale.value_or(Array{}), "table");
          },
          nb::arg("rows").noconvert(), nb::arg("scale").noconvert().none(), nb::kw_only(),
          nb::arg("bfloat16"), nb::arg("writable"))
      .def_prop_ro("name", &Table::name)
      .def_prop_ro("is_encoded", &Table::is_encoded)
      .def_prop_ro("device",
                   [](const Table& table) -> std::optional<int> {
                     const int device = table.rows().device;
                     return device == kHost ? std::nullopt : std::optional(device);
                   })
      .def_prop_ro("shape", [](const Table& table) { return table.rows().shape; })
      .def_prop_ro("dtype", [](const Table& table) { return name(table.rows().dtype); })
      .def_prop_ro("is_writable", [](const Table& table) { return table.rows().writable; })
      .def("part", &part, nb::arg("begin"), nb::arg("end"))
      .def("numpy", &as_numpy)
      .def("tensor", &Table::rows)
      .def_prop_ro("scale", &Table::scale)
      .def("init_rows", &init, nb::arg("distribution"), nb::kw_only(), nb::arg("seed"),
           nb::arg("ids").noconvert(), nb::arg("num_rows"), nb::arg("threads"),
           nb::call_guard<GilRelease>());
  bind_rows(table);
  bind_positions(m);
  nb::class_<WholeTable> whole(m, "WholeTable");
  whole.def(nb::init<Table, RowPositions>(), nb::arg("rows_by_position"), nb::arg("positions"))
      .def_prop_ro("name", [](const WholeTable& rows) { return rows.rows_by_position().name(); })
      .def_prop_ro("is_encoded",
                   [](const WholeTable& rows) { return rows.rows_by_position().is_encoded(); })
      .def_prop_ro("scale", [](const WholeTable& rows) { return rows.rows_by_position().scale(); });
  bind_rows(whole);
}

}  // namespace ramet::bind
