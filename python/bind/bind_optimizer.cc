#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "device_array.h"
#include "gil.h"
#include "ramet/optimizer.h"
#include "ramet/table.h"

namespace ramet::bind {

namespace {

void apply(const OptimizerStep& step,
           const Table& weights,
           const std::vector<Table>& state,
           const std::vector<std::pair<Ids, AnyRows>>& gradients,
           std::pair<int64_t, int64_t> own,
           int threads) {
  std::vector<Array> state_rows;
  for (const Table& table : state)
    state_rows.push_back(table.rows());
  std::vector<RowList> lists;
  for (const auto& [ids, values] : gradients)
    lists.push_back({borrow(ids), borrow(values)});
  const GilRelease release;
  apply_gradients(step, weights.rows(), state_rows, lists, own.first, own.second, threads);
}

// (name, dtype, whether it has one value per row) of each array.
std::vector<nb::tuple> state(const Optimizer& optimizer) {
  std::vector<nb::tuple> forms;
  for (const StateForm& form : state_of(optimizer))
    forms.push_back(nb::make_tuple(form.name, name(form.dtype), form.per_row));
  return forms;
}

}  // namespace

void bind_optimizer(nb::module_& m) {
  nb::enum_<Steps>(m, "Steps").value("row", Steps::kRow).value("all", Steps::kAll);
  nb::class_<Sgd>(m, "Sgd").def(nb::init<double, double>(), nb::kw_only(), nb::arg("learning_rate"),
                                nb::arg("weight_decay"));
  nb::class_<AdaGrad>(m, "AdaGrad")
      .def(nb::init<double, double, double, bool>(), nb::kw_only(), nb::arg("learning_rate"),
           nb::arg("eps"), nb::arg("weight_decay"), nb::arg("rowwise"));
  nb::class_<RmsProp>(m, "RmsProp")
      .def(nb::init<double, double, double, double>(), nb::kw_only(), nb::arg("learning_rate"),
           nb::arg("alpha"), nb::arg("eps"), nb::arg("weight_decay"));
  nb::class_<Adam>(m, "Adam").def(nb::init<double, double, double, double, double, Steps, bool>(),
                                  nb::kw_only(), nb::arg("learning_rate"), nb::arg("beta1"),
                                  nb::arg("beta2"), nb::arg("eps"), nb::arg("weight_decay"),
                                  nb::arg("steps"), nb::arg("decoupled"));
  nb::class_<OptimizerStep>(m, "OptimizerStep")
      .def_ro("number", &OptimizerStep::number)
      .def(
          "__init__",
          [](OptimizerStep* self, const Optimizer& optimizer, int64_t number, double divisor,
             bool stochastic, uint64_t seed, const std::optional<Array>& row_ids) {
            new (self) OptimizerStep{optimizer,  number, divisor,
                                     stochastic, seed,   row_ids.value_or(Array{})};
          },
          nb::arg("optimizer"), nb::kw_only(), nb::arg("number"), nb::arg("divisor"),
          nb::arg("stochastic"), nb::arg("seed"), nb::arg("row_ids").noconvert().none())
      .def(
          "of_rows",
          [](OptimizerStep step, const Array& row_ids) {
            step.row_ids = row_ids;
            return step;
          },
          nb::arg("row_ids").noconvert());
  m.def("optimizer_state", &state, nb::arg("optimizer"));
  m.def("apply_gradients", &apply, nb::arg("step"), nb::arg("weights"), nb::arg("state"),
        nb::arg("gradients"), nb::kw_only(), nb::arg("own"), nb::arg("threads"));
}

}  // namespace ramet::bind
