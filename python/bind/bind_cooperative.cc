#include <optional>
#include <utility>
#include <vector>

#include "arrays.h"
#include "epoch_stream.h"
#include "gil.h"
#include "group_thread.h"
#include "ramet/cooperative_loader.h"
#include "ramet/exchange.h"

namespace ramet::bind {

namespace {

using Rows = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// None when the batch is complete.
nb::object as_object(const std::optional<Message>& message) {
  return message ? nb::object(to_python(*message)) : nb::none();
}

}  // namespace

void bind_cooperative(nb::module_& m) {
  nb::class_<PyTask>(m, "SampleTask")
      .def_prop_ro("epoch", [](const PyTask& task) { return task.task->epoch; })
      .def_prop_ro("step", [](const PyTask& task) { return task.task->step; })
      .def("run", &PyTask::run, nb::arg("exchange"))
      .def("fail", &PyTask::fail, nb::arg("error"));

  nb::class_<CooperativeLoader>(m, "CooperativeLoader")
      .def(
          "__init__",
          [](CooperativeLoader* self, const BoundLoader& loader, std::vector<Ownership> owners,
             int64_t rank) { new (self) CooperativeLoader(loader, {std::move(owners), rank}); },
          nb::arg("loader"), nb::kw_only(), nb::arg("owners"), nb::arg("rank"))
      // `thread`: a GroupThread of ramet.loading.cooperative.
      .def(
          "start",
          [](const CooperativeLoader& loader, int64_t epoch, int64_t first_step,
             nb::object thread) {
            auto group = std::make_shared<PyGroupThread>(std::move(thread));
            return PyStream(loader.start(epoch, first_step, std::move(group)), loader.graph(),
                            dies_without_gil(loader.cuda_graph()), loader.device_pool());
          },
          nb::arg("epoch"), nb::arg("first_step"), nb::arg("thread"))
      .def("begin",
           [](CooperativeLoader& loader, int64_t epoch, int64_t step) {
             std::optional<Message> message;
             {
               const GilRelease release;
               message = loader.begin(epoch, step);
             }
             return as_object(message);
           })
      .def(
          "receive",
          [](CooperativeLoader& loader, std::vector<int64_t> bytes, const Array& data) {
            const Message from{std::move(bytes), data};
            std::optional<Message> message;
            {
              const GilRelease release;
              message = loader.receive(from);
            }
            return as_object(message);
          },
          nb::arg("bytes"), nb::arg("data").noconvert())
      .def("finish", [](CooperativeLoader& loader) {
        const GilRelease release;
        return PyBatch{loader.finish(), loader.graph(), dies_without_gil(loader.cuda_graph()),
                       loader.device_pool()};
      });

  m.def(
      "take_rows",
      [](const Array& rows, const Rows& ids, const OutArray& out, int threads) {
        take_rows(rows, {ids.data(), ids.size()}, out, threads);
      },
      nb::arg("rows").noconvert(), nb::arg("ids").noconvert(), nb::arg("out"), nb::kw_only(),
      nb::arg("threads"), nb::call_guard<GilRelease>());
  m.def(
      "add_rows",
      [](const OutArray& out, const Rows& ids, const Array& values, int threads) {
        add_rows(out, {ids.data(), ids.size()}, values, threads);
      },
      nb::arg("out"), nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::kw_only(),
      nb::arg("threads"), nb::call_guard<GilRelease>());

  // Of block `block` and node type `type` of a batch that ranks made together; positions as in the
  // other methods of a Batch.
  nb::class_<ExchangePlan>(m, "ExchangePlan")
      .def_ro("num_owned", &ExchangePlan::num_owned)
      .def_ro("send_counts", &ExchangePlan::send_counts)
      .def_ro("receive_counts", &ExchangePlan::receive_counts)
      .def_ro("send_rows", &ExchangePlan::send_rows)
      .def_ro("source_ids", &ExchangePlan::source_ids);
}

}  // namespace ramet::bind
