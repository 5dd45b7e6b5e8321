#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/ownership.h"

namespace ramet::bind {

namespace {

// A numpy array of what C++ computed.
template <typename T>
nb::object transfer(std::vector<T> values) {
  const auto memory = std::make_shared<std::vector<T>>(std::move(values));
  return to_numpy(Array{.data = memory->data(),
                        .dtype = sizeof(T) == 2 ? DType::kUInt16 : DType::kInt64,
                        .shape = {static_cast<int64_t>(memory->size())},
                        .owner = memory,
                        .writable = true});
}

// int64[parts + 1] of ranges; None of other owners.
nb::object bounds_of(const Ownership& ownership) {
  if (!ownership.is_ranges()) return nb::none();
  std::vector<int64_t> bounds{0};
  for (int64_t part = 0; part < ownership.parts(); ++part)
    bounds.push_back(ownership.span_of(part).end);
  return transfer(std::move(bounds));
}

// (bounds, vector, what it is named after, nodes, parts); a hash has neither bounds nor a vector.
nb::tuple get_state(const Ownership& ownership) {
  nb::object vector = nb::none();
  if (!ownership.vector().shape.empty()) vector = to_numpy(ownership.vector());
  return nb::make_tuple(bounds_of(ownership), vector, ownership.name(), ownership.num_nodes(),
                        ownership.parts());
}

Ownership of_state(const nb::tuple& state) {
  const auto name = nb::cast<std::string>(state[2]);
  const auto num_nodes = nb::cast<int64_t>(state[3]), parts = nb::cast<int64_t>(state[4]);
  if (!state[0].is_none()) return Ownership::ranges(borrow(nb::cast<AnyArray>(state[0])));
  if (state[1].is_none()) return Ownership::hashed(name, num_nodes, parts);
  return Ownership::by_vector(keep(nb::cast<AnyArray>(state[1]), false), parts, name);
}

}  // namespace

void bind_ownership(nb::module_& m) {
  m.attr("MAX_PARTS") = kMaxParts;

  nb::class_<Ownership>(m, "Ownership")
      .def_static(
          "ranges", [](const AnyArray& bounds) { return Ownership::ranges(borrow(bounds)); },
          nb::arg("bounds").noconvert())
      .def_static("hashed", &Ownership::hashed, nb::arg("type"), nb::arg("num_nodes"),
                  nb::arg("parts"))
      .def_static(
          "by_vector",
          [](const AnyArray& owners, int64_t parts, const std::string& location) {
            return Ownership::by_vector(keep(owners, false), parts, location);
          },
          nb::arg("owners").noconvert(), nb::arg("parts"), nb::arg("location"))
      .def("__repr__",
           [](const Ownership& owners) {
             return "<Ownership of " + std::to_string(owners.num_nodes()) + " rows by " +
                    std::to_string(owners.parts()) + " ranks>";
           })
      .def_prop_ro("parts", &Ownership::parts)
      .def_prop_ro("num_nodes", &Ownership::num_nodes)
      .def_prop_ro("is_ranges", &Ownership::is_ranges)
      .def_prop_ro("bounds", &bounds_of)
      .def(
          "owners",
          [](const Ownership& ownership, const Ids& nodes) {
            return transfer(ownership.owners(borrow(nodes)));
          },
          nb::arg("nodes").noconvert())
      .def("digest", &Ownership::digest, nb::call_guard<GilRelease>())
      .def("__getstate__", &get_state)
      .def("__setstate__", [](Ownership& ownership, const nb::tuple& state) {
        new (&ownership) Ownership(of_state(state));
      });

  m.def("balanced_ranges", [](const Graph& graph, const std::string& type, int64_t parts) {
    return balanced_ranges(graph, graph.node_type(type), parts);
  });
}

}  // namespace ramet::bind
