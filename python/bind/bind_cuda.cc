#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "gil.h"
#include "progress.h"
#include "ramet/cuda.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_table.h"

namespace ramet::bind {

namespace {

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

Array rows_on_device(const CudaTable& table, uintptr_t data, bool decode, int64_t count) {
  const RowForm form = table.table().form(decode);
  return on_device(table, data, form.dtype, form.shape_of(count), true);
}

nb::dict describe(int index) {
  const CudaDevice device = cuda_device(index);
  nb::dict result;
  result["name"] = device.name;
  result["capability"] = nb::make_tuple(device.major, device.minor);
  result["multiprocessors"] = device.num_sms;
  result["total_bytes"] = device.total_bytes;
  result["l2_bytes"] = device.l2_bytes;
  result["pci_bus_id"] = device.pci_bus_id;
  return result;
}

void bind_cuda_table(nb::module_& m) {
  using Bound = DiesWithoutGil<CudaTable>;
  nb::class_<Bound>(m, "CudaTable")
      .def(
          "__init__",
          [](Bound* self, const Table& table, int device, const std::string& placement,
             bool copy_where_refused, const std::optional<Array>& cached,
             const nb::object& progress) {
            const CudaTableOptions options{
                .device = device,
                .placement = location_named(placement, kCudaTables, "placement"),
                .copy_where_refused = copy_where_refused,
                .cached = cached.value_or(Array{}),
                .progress = interruptible(progress)};
            const GilRelease release;
            new (self) Bound(table, options);
          },
          nb::arg("table"), nb::kw_only(), nb::arg("device"), nb::arg("placement"),
          nb::arg("copy_where_refused"), nb::arg("cached").noconvert().none(), nb::arg("progress"))
      .def_prop_ro("placement", [](const Bound& t) { return name(t.placement()); })
      .def_prop_ro("refusal", &CudaTable::refusal)
      .def_prop_ro("num_cached", &CudaTable::num_cached)
      .def_prop_ro("device_bytes", &CudaTable::device_bytes)
      .def("num_hits", &CudaTable::num_hits, nb::call_guard<GilRelease>())
      .def(
          "gather",
          [](const Bound& table, uintptr_t ids, bool wide, int64_t count, uintptr_t out,
             uintptr_t stream, bool decode, bool check, std::optional<int> max_sms,
             const std::string& order, bool shift) {
            table.gather(ids_on_device(table, ids, wide, count),
                         rows_on_device(table, out, decode, count), address(stream),
                         {.decode = decode,
                          .check = check,
                          .order = row_order_named(order),
                          .max_sms = max_sms.value_or(kEnoughSms),
                          .shift = shift});
          },
          nb::arg("ids"), nb::arg("wide"), nb::arg("count"), nb::arg("out"), nb::kw_only(),
          nb::arg("stream"), nb::arg("decode"), nb::arg("check"), nb::arg("max_sms").none(),
          nb::arg("order") = "auto", nb::arg("shift") = true, nb::call_guard<GilRelease>())
      .def(
          "scatter",
          [](const Bound& table, uintptr_t ids, bool wide, int64_t count, uintptr_t rows,
             uintptr_t scratch, int64_t scratch_bytes, uintptr_t stream, bool check,
             std::optional<int> max_sms) {
            table.scatter(
                ids_on_device(table, ids, wide, count), rows_on_device(table, rows, false, count),
                address(stream),
                {.scratch = on_device(table, scratch, DType::kUInt8, {scratch_bytes}, true),
                 .check = check,
                 .max_sms = max_sms.value_or(kEnoughSms)});
          },
          nb::arg("ids"), nb::arg("wide"), nb::arg("count"), nb::arg("rows"), nb::kw_only(),
          nb::arg("scratch"), nb::arg("scratch_bytes"), nb::arg("stream"), nb::arg("check"),
          nb::arg("max_sms").none(), nb::call_guard<GilRelease>());
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
  m.def("cuda_synchronize", &cuda_synchronize, nb::call_guard<GilRelease>());
  m.def("registered_bytes", &HostRegistration::registered_bytes);
  m.def("scatter_scratch_bytes", &CudaTable::scatter_scratch_bytes);
  bind_cuda_table(m);
}

}  // namespace ramet::bind
