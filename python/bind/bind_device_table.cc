#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "device_array.h"
#include "gil.h"
#include "ramet/device_pieces.h"
#include "ramet/device_table.h"
#include "ramet/error.h"
#include "ramet/optimizer.h"
#include "ramet/table_rows.h"

namespace ramet::bind {

namespace {

DType dtype_named(const std::string& wanted) {
  for (int number = 0; number <= static_cast<int>(DType::kFloat64); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (name(dtype) == wanted) return dtype;
  }
  throw_invalid("dtype is '", wanted, "', which no table has");
}

Table map_pieces(const std::vector<std::pair<DevicePiece, int64_t>>& pieces,
                 int device,
                 const std::string& dtype,
                 const std::vector<int64_t>& shape) {
  std::vector<PlacedPiece> placed;
  for (const auto& [piece, offset] : pieces)
    placed.push_back({piece, offset});
  Array rows{nullptr, dtype_named(dtype), shape, nullptr, true, device};
  rows.owner = map_on_device(placed, rows.bytes(), device);
  rows.data = const_cast<void*>(rows.owner.get());
  return Table(rows, "table");
}

void gather_on_device(const DeviceTable& table,
                      const DeviceArray& ids,
                      const DeviceArray& out,
                      uintptr_t stream,
                      bool decode) {
  table.gather(ids.array, out.array, reinterpret_cast<void*>(stream), {.decode = decode});
}

void look_up_on_device(const DeviceTable& table,
                       const DeviceArray& ids,
                       const DeviceArray& positions,
                       uintptr_t stream) {
  table.look_up(ids.array, positions.array, reinterpret_cast<void*>(stream));
}

void gather_rows_there(const DeviceArray& rows,
                       const DeviceArray& ids,
                       const DeviceArray& out,
                       uintptr_t stream) {
  gather_device_rows(rows.array, ids.array, out.array, reinterpret_cast<void*>(stream));
}

using WriteSorted = void (*)(const Array&, const SortedLists&);

template <WriteSorted kWrite>
void write_sorted(const Table& table, const SortedLists& lists) {
  kWrite(table.rows(), lists);
}

void apply_sorted(const OptimizerStep& step,
                  const Table& weights,
                  const std::vector<Table>& state,
                  const SortedLists& gradients,
                  std::pair<int64_t, int64_t> own) {
  std::vector<Array> state_rows;
  for (const Table& table : state)
    state_rows.push_back(table.rows());
  apply_sorted_gradients(step, weights.rows(), state_rows, gradients, own.first, own.second);
}

}  // namespace

void bind_device_table(nb::module_& m) {
  nb::class_<DevicePiece>(m, "DevicePiece")
      .def_static("create", &DevicePiece::create, nb::arg("device"), nb::arg("bytes"),
                  nb::call_guard<GilRelease>())
      .def_static("open", &DevicePiece::open, nb::arg("device"), nb::arg("fd"), nb::arg("bytes"))
      .def_static("unit", &DevicePiece::unit, nb::arg("device"))
      .def_prop_ro("fd", &DevicePiece::fd)
      .def_prop_ro("bytes", &DevicePiece::bytes)
      .def_prop_ro("device", &DevicePiece::device);
  m.def("map_on_device", &map_pieces, nb::arg("pieces"), nb::kw_only(), nb::arg("device"),
        nb::arg("dtype"), nb::arg("shape"));
  m.def("require_access", &require_access, nb::arg("device"), nb::arg("other"));
  nb::class_<DeviceTable>(m, "DeviceTable")
      .def(nb::init<Table, const std::optional<RowPositions>&>(), nb::arg("rows_by_position"),
           nb::arg("positions").none())
      .def(nb::init<Table, const Array&, const Table&>(), nb::arg("on_host"),
           nb::arg("ids").noconvert(), nb::arg("cached"), nb::call_guard<GilRelease>())
      .def("gather", &gather_on_device, nb::arg("ids"), nb::arg("out"), nb::kw_only(),
           nb::arg("stream"), nb::arg("decode"), nb::call_guard<GilRelease>())
      .def("look_up", &look_up_on_device, nb::arg("ids"), nb::arg("positions"), nb::kw_only(),
           nb::arg("stream"), nb::call_guard<GilRelease>());
  m.def("gather_device_rows", &gather_rows_there, nb::arg("rows"), nb::arg("ids"), nb::arg("out"),
        nb::kw_only(), nb::arg("stream"), nb::call_guard<GilRelease>());
  nb::class_<SortedLists>(m, "SortedLists")
      .def(
          "__init__",
          [](SortedLists* self, const DeviceArray& rows, const DeviceArray& starts,
             const DeviceArray& positions, const std::vector<DeviceArray>& lists) {
            new (self) SortedLists{rows.array, starts.array, positions.array, {}};
            for (const DeviceArray& list : lists)
              self->lists.push_back(list.array);
          },
          nb::arg("rows"), nb::arg("starts"), nb::arg("positions"), nb::arg("lists"));
  m.def("set_sorted_rows", &write_sorted<set_sorted_rows>, nb::arg("table"), nb::arg("lists"),
        nb::call_guard<GilRelease>());
  m.def("sum_sorted_rows", &write_sorted<sum_sorted_rows>, nb::arg("table"), nb::arg("lists"),
        nb::call_guard<GilRelease>());
  m.def("apply_sorted_gradients", &apply_sorted, nb::arg("step"), nb::arg("weights"),
        nb::arg("state"), nb::arg("gradients"), nb::kw_only(), nb::arg("own"),
        nb::call_guard<GilRelease>());
}

// Before what takes one.
void bind_device_array(nb::module_& m) {
  nb::class_<DeviceArray>(m, "DeviceArray")
      .def(
          "__init__",
          [](DeviceArray* self, uintptr_t data, const std::string& dtype,
             std::vector<int64_t> shape, int device) {
            new (self) DeviceArray{{reinterpret_cast<void*>(data), dtype_named(dtype),
                                    std::move(shape), nullptr, true, device}};
          },
          nb::arg("data"), nb::kw_only(), nb::arg("dtype"), nb::arg("shape"), nb::arg("device"));
}

}  // namespace ramet::bind
