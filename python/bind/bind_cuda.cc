#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "gil.h"
#include "ramet/cuda.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_table.h"
#include "ramet/error.h"

namespace ramet::bind {

namespace {

// A Python object that C++ keeps alive, wherever it is let go of.
std::shared_ptr<const void> keep(nb::object object) {
  return {object.release().ptr(), [](const void* kept) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire gil;
            nb::steal(nb::handle(static_cast<PyObject*>(const_cast<void*>(kept))));
          }};
}

void* address(uintptr_t data) {
  return reinterpret_cast<void*>(data);
}

// What torch says of a tensor on the device, which Python has checked.
Array on_device(const CudaTable& table,
                uintptr_t data,
                DType dtype,
                std::vector<int64_t> shape,
                bool writable) {
  return {address(data), dtype, std::move(shape), nullptr, writable, table.device()};
}

Array ids_on_device(const CudaTable& table, uintptr_t data, bool wide, int64_t count) {
  return on_device(table, data, wide ? DType::kInt64 : DType::kInt32, {count}, false);
}

std::vector<int64_t> rows_shape(const CudaTable& table, int64_t count) {
  std::vector<int64_t> shape = table.table().rows().shape;
  shape[0] = count;
  return shape;
}

CudaPlacement placement_of(const std::string& name) {
  if (name == "in_place") return CudaPlacement::kInPlace;
  if (name == "device") return CudaPlacement::kDevice;
  if (name == "pinned_copy") return CudaPlacement::kPinnedCopy;
  throw Error(ErrorCode::kInvalidArgument,
              "placement is '" + name + "', expected 'in_place', 'device' or 'pinned_copy'");
}

const char* name_of(CudaPlacement placement) {
  switch (placement) {
    case CudaPlacement::kInPlace:
      return "in_place";
    case CudaPlacement::kDevice:
      return "device";
    case CudaPlacement::kPinnedCopy:
      return "pinned_copy";
  }
  return "";
}

nb::dict describe(int index) {
  const CudaDevice device = cuda_device(index);
  nb::dict result;
  result["name"] = device.name;
  result["capability"] = nb::make_tuple(device.major, device.minor);
  result["multiprocessors"] = device.num_sms;
  result["total_bytes"] = device.total_bytes;
  result["free_bytes"] = device.free_bytes;
  result["l2_bytes"] = device.l2_bytes;
  result["pci_bus_id"] = device.pci_bus_id;
  return result;
}

void bind_table(nb::module_& m) {
  nb::class_<CudaTable>(m, "CudaTable")
      .def(
          "__init__",
          [](CudaTable* self, const AnyArray& rows, const std::optional<AnyArray>& scale,
             const std::string& name, bool bfloat16, bool writable, int device,
             const std::string& placement, bool copy_where_refused,
             const std::optional<AnyArray>& cached, nb::object owner) {
            Array stored = borrow(rows);
            if (bfloat16) stored.dtype = DType::kBFloat16;
            stored.writable = writable;
            stored.owner = keep(std::move(owner));
            Array scales = scale ? borrow(*scale) : Array{};
            if (scale) scales.owner = stored.owner;
            const CudaTableOptions options{.device = device,
                                           .placement = placement_of(placement),
                                           .copy_where_refused = copy_where_refused,
                                           .cached = cached ? borrow(*cached) : Array{}};
            const GilRelease release;
            new (self) CudaTable(Table(std::move(stored), std::move(scales), name), options);
          },
          nb::arg("rows").noconvert(), nb::arg("scale").noconvert().none(), nb::kw_only(),
          nb::arg("name"), nb::arg("bfloat16"), nb::arg("writable"), nb::arg("device"),
          nb::arg("placement"), nb::arg("copy_where_refused"), nb::arg("cached").noconvert().none(),
          nb::arg("owner"))
      .def_prop_ro("placement", [](const CudaTable& t) { return name_of(t.placement()); })
      .def_prop_ro("refusal", &CudaTable::refusal)
      .def_prop_ro("num_cached", &CudaTable::num_cached)
      .def_prop_ro("device_bytes", &CudaTable::device_bytes)
      .def("num_hits", &CudaTable::num_hits, nb::call_guard<GilRelease>())
      .def(
          "gather",
          [](const CudaTable& table, uintptr_t ids, bool wide, int64_t count, uintptr_t out,
             uintptr_t stream, bool decode, bool check, int max_sms, bool shift) {
            const DType dtype = decode ? DType::kFloat32 : table.table().rows().dtype;
            table.gather(ids_on_device(table, ids, wide, count),
                         on_device(table, out, dtype, rows_shape(table, count), true),
                         address(stream),
                         {.decode = decode, .check = check, .max_sms = max_sms, .shift = shift});
          },
          nb::arg("ids"), nb::arg("wide"), nb::arg("count"), nb::arg("out"), nb::kw_only(),
          nb::arg("stream"), nb::arg("decode"), nb::arg("check"), nb::arg("max_sms"),
          nb::arg("shift") = true, nb::call_guard<GilRelease>())
      .def(
          "scatter",
          [](const CudaTable& table, uintptr_t ids, bool wide, int64_t count, uintptr_t rows,
             uintptr_t scratch, int64_t scratch_bytes, uintptr_t stream, bool check, int max_sms) {
            table.scatter(
                ids_on_device(table, ids, wide, count),
                on_device(table, rows, table.table().rows().dtype, rows_shape(table, count), false),
                address(stream),
                {.scratch = on_device(table, scratch, DType::kUInt8, {scratch_bytes}, true),
                 .check = check,
                 .max_sms = max_sms});
          },
          nb::arg("ids"), nb::arg("wide"), nb::arg("count"), nb::arg("rows"), nb::kw_only(),
          nb::arg("scratch"), nb::arg("scratch_bytes"), nb::arg("stream"), nb::arg("check"),
          nb::arg("max_sms"), nb::call_guard<GilRelease>());
}

}  // namespace

void bind_cuda(nb::module_& m) {
  m.def("cuda_backend", []() -> std::optional<std::string> {
    const char* name = cuda_backend_name();
    return name == nullptr ? std::nullopt : std::optional<std::string>(name);
  });
  m.def("cuda_num_devices", &cuda_num_devices);
  m.def("cuda_describe", &describe);
  m.def("cuda_versions", [] {
    const CudaVersions versions = cuda_versions();
    return nb::make_tuple(versions.build, versions.driver);
  });
  m.def("cuda_synchronize", [](int device) {
    const GilRelease release;
    cuda_synchronize(device);
  });
  m.def("registered_bytes", &HostRegistration::registered_bytes);
  m.def("scatter_scratch_bytes", &CudaTable::scatter_scratch_bytes);
  bind_table(m);
}

}  // namespace ramet::bind
