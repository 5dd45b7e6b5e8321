#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <map>
#include <string>
#include <utility>

#include "arrays.h"
#include "gil.h"
#include "paths.h"
#include "ramet/id_map.h"
#include "ramet/node_ids.h"

namespace ramet::bind {

namespace {

// An array of integers, or a pair of arrays: bytes of text, and offsets.
IdList list_of(const nb::object& ids) {
  if (!nb::isinstance<nb::tuple>(ids)) return {borrow(nb::cast<AnyArray>(ids))};
  const auto [text, offsets] = nb::cast<std::pair<AnyArray, AnyArray>>(ids);
  return {borrow(text), borrow(offsets)};
}

Array positions_for(const IdList& ids) {
  return BufferPool::shared()->allocate_array(DType::kInt64, {count_ids(ids)});
}

std::span<int64_t> span_of(const Array& positions) {
  return {static_cast<int64_t*>(positions.data), static_cast<size_t>(positions.rows())};
}

// In an IdMap, or in NodeIds.
template <typename Known>
nb::object find_ids(const Known& known, const nb::object& ids, int threads) {
  const IdList list = list_of(ids);
  const Array positions = positions_for(list);
  {
    const GilRelease release;
    known.find(list, span_of(positions), threads);
  }
  return to_numpy(positions);
}

}  // namespace

void bind_ids(nb::module_& m) {
  nb::class_<NodeIds>(m, "NodeIds")
      .def_prop_ro("kind", &NodeIds::kind)
      .def(
          "find",
          [](const NodeIds& kept, const nb::object& ids, int threads) {
            return find_ids(kept, ids, threads);
          },
          nb::arg("ids"), nb::arg("threads") = 0)
      .def(
          "of",
          [](const NodeIds& kept, const Ids& positions, int threads) -> nb::object {
            IdList ids;
            {
              const GilRelease release;
              ids = kept.of(borrow(positions), threads);
            }
            if (ids.offsets.data == nullptr) return to_numpy(ids.values);
            return nb::make_tuple(to_numpy(ids.values), to_numpy(ids.offsets));
          },
          nb::arg("positions").noconvert(), nb::arg("threads") = 0);

  nb::class_<IdMap>(m, "IdMap")
      .def(nb::new_([](const std::string& kind, const nb::bytes& folder) {
             return IdMap::create(kind, to_string(folder));
           }),
           nb::arg("kind"), nb::arg("folder") = nb::bytes(""))
      // (positions int64 [n], how many ids were new)
      .def(
          "add",
          [](IdMap& map, const nb::object& ids) {
            const IdList list = list_of(ids);
            const Array positions = positions_for(list);
            int64_t added = 0;
            {
              const GilRelease release;
              added = map.add(list, span_of(positions));
            }
            return nb::make_tuple(to_numpy(positions), added);
          },
          nb::arg("ids"))
      .def(
          "find",
          [](const IdMap& map, const nb::object& ids, int threads) {
            return find_ids(map, ids, threads);
          },
          nb::arg("ids"), nb::arg("threads") = 0)
      .def_prop_ro("size", &IdMap::size)
      .def_prop_ro("memory", &IdMap::memory)
      .def(
          "arrays",
          [](IdMap& map, int threads) {
            std::map<std::string, Array> arrays;
            {
              const GilRelease release;
              arrays = map.arrays(threads);
            }
            nb::dict result;
            for (const auto& [name, array] : arrays)
              result[name.c_str()] = to_numpy(array);
            return result;
          },
          nb::arg("threads") = 0);
}

}  // namespace ramet::bind
