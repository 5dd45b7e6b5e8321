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

// Arrays from Python are kept alive by a reference, which any thread may drop.
Array share(const AnyArray& array) {
  Array result = borrow(array);
  result.owner = std::shared_ptr<const void>(new AnyArray(array), [](const AnyArray* kept) {
    const nb::gil_scoped_acquire gil;
    delete kept;
  });
  return result;
}

// A numpy array of what C++ computed.
nb::object transfer(std::vector<uint16_t> values) {
  const auto memory = std::make_shared<std::vector<uint16_t>>(std::move(values));
  return to_numpy(Array{.data = memory->data(),
                        .dtype = DType::kUInt16,
                        .shape = {static_cast<int64_t>(memory->size())},
                        .owner = memory,
                        .writable = true});
}

}  // namespace

void bind_ownership(nb::module_& m) {
  m.attr("MAX_PARTS") = kMaxParts;

  nb::class_<Ownership>(m, "Ownership")
      .def_static(
          "ranges", [](const AnyArray& bounds) { return Ownership::ranges(borrow(bounds)); },
          nb::arg("bounds").noconvert())
      .def_static("hashed",
                  [](const Graph& graph, const std::string& type, int64_t parts) {
                    const auto t = static_cast<size_t>(graph.node_type(type));
                    return Ownership::hashed(graph.node_types()[t], parts);
                  })
      .def_static(
          "by_vector",
          [](const AnyArray& owners, int64_t parts, const std::string& place) {
            return Ownership::by_vector(share(owners), parts, place);
          },
          nb::arg("owners").noconvert(), nb::arg("parts"), nb::arg("place"))
      .def_prop_ro("parts", &Ownership::parts)
      .def_prop_ro("num_nodes", &Ownership::num_nodes)
      .def(
          "owners",
          [](const Ownership& ownership, const Ids& nodes) {
            return transfer(ownership.owners(borrow(nodes)));
          },
          nb::arg("nodes").noconvert())
      .def("digest", &Ownership::digest, nb::call_guard<GilRelease>());

  m.def("balanced_ranges", [](const Graph& graph, const std::string& type, int64_t parts) {
    return balanced_ranges(graph, graph.node_type(type), parts);
  });
}

}  // namespace ramet::bind
