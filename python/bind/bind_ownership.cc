#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/ownership.h"

namespace ramet::bind {

namespace {

// A numpy array of what C++ computed.
template <typename T>
Array transfer(std::vector<T> values) {
  const auto memory = std::make_shared<std::vector<T>>(std::move(values));
  return {.data = memory->data(),
          .dtype = sizeof(T) == 2 ? DType::kUInt16 : DType::kInt64,
          .shape = {static_cast<int64_t>(memory->size())},
          .owner = memory,
          .writable = true};
}

// int64[parts + 1] of ranges; None of other owners.
Array bounds_of(const Ownership& ownership) {
  if (!ownership.is_ranges()) return {};
  std::vector<int64_t> bounds{0};
  for (int64_t part = 0; part < ownership.parts(); ++part)
    bounds.push_back(ownership.span_of(part).end);
  return transfer(std::move(bounds));
}

// (bounds, vector, what it is named after, nodes, parts); a hash has neither bounds nor a vector.
nb::tuple get_state(const Ownership& ownership) {
  return nb::make_tuple(bounds_of(ownership), ownership.vector(), ownership.name(),
                        ownership.num_nodes(), ownership.parts());
}

using State = std::tuple<std::optional<Array>, std::optional<Array>, std::string, int64_t, int64_t>;

Ownership of_state(const State& state) {
  const auto& [bounds, vector, name, num_nodes, parts] = state;
  if (bounds) return Ownership::ranges(*bounds);
  if (!vector) return Ownership::hashed(name, num_nodes, parts);
  return Ownership::by_vector(*vector, parts, name);
}

}  // namespace

void bind_ownership(nb::module_& m) {
  m.attr("MAX_PARTS") = kMaxParts;

  nb::class_<Ownership>(m, "Ownership")
      .def_static("ranges", &Ownership::ranges, nb::arg("bounds").noconvert())
      .def_static("hashed", &Ownership::hashed, nb::arg("type"), nb::arg("num_nodes"),
                  nb::arg("parts"))
      .def_static("by_vector", &Ownership::by_vector, nb::arg("owners").noconvert(),
                  nb::arg("parts"), nb::arg("location"))
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
          [](const Ownership& ownership, std::span<const int64_t> nodes) {
            return transfer(ownership.owners(nodes));
          },
          nb::arg("nodes").noconvert())
      .def("digest", &Ownership::digest, nb::call_guard<GilRelease>())
      .def("__getstate__", &get_state)
      .def("__setstate__", [](Ownership& ownership, const State& state) {
        new (&ownership) Ownership(of_state(state));
      });

  m.def("balanced_ranges", [](const Graph& graph, const std::string& type, int64_t parts) {
    return balanced_ranges(graph, graph.node_type(type), parts);
  });
}

}  // namespace ramet::bind
