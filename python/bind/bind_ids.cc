#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

template <typename T>
std::span<T> span_of(const Array& array) {
  return {static_cast<T*>(array.data), static_cast<size_t>(array.bytes()) / sizeof(T)};
}

Array allocate(DType dtype, const std::vector<int64_t>& shape) {
  return BufferPool::shared()->allocate_array(dtype, shape);
}

// In an IdMap, or in NodeIds.
template <typename Known>
Array find_ids(const Known& known, const nb::object& ids, int threads) {
  const IdList list = list_of(ids);
  const Array positions = allocate(DType::kInt64, {count_ids(list)});
  const GilRelease release;
  known.find(list, span_of<int64_t>(positions), threads);
  return positions;
}

using Absent = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// int64 [n, lists]
Array add_ids(IdMap& map, const std::vector<nb::object>& lists, std::optional<Absent> absent) {
  std::vector<IdList> ids;
  for (const nb::object& list : lists)
    ids.push_back(list_of(list));
  const int64_t rows = ids.empty() ? 0 : count_ids(ids[0]);
  const Array positions = allocate(DType::kInt64, {rows, static_cast<int64_t>(ids.size())});
  const GilRelease release;
  map.add(ids, absent ? std::span(absent->data(), absent->size()) : std::span<const bool>(),
          span_of<int64_t>(positions));
  return positions;
}

// (values [n], bool [n]: which of the texts are integers; None: all)
template <typename Integer>
std::pair<Array, Array> parse_as(const IdList& texts, DType dtype) {
  const Array values = allocate(dtype, {count_ids(texts)});
  const Array is_parsed = allocate(DType::kBool, values.shape);
  const GilRelease release;
  const bool are_all_parsed = parse_ids(texts, span_of<Integer>(values), span_of<bool>(is_parsed));
  return {values, are_all_parsed ? Array{} : is_parsed};
}

}  // namespace

void bind_ids(nb::module_& m) {
  nb::class_<NodeIds>(m, "NodeIds")
      .def_prop_ro("kind", &NodeIds::kind)
      .def("find", &find_ids<NodeIds>, nb::arg("ids"), nb::arg("threads") = 0)
      .def(
          "of",
          [](const NodeIds& kept, std::span<const int64_t> positions,
             int threads) -> std::variant<Array, std::pair<Array, Array>> {
            const IdList ids = kept.of(positions, threads);
            if (ids.offsets.data == nullptr) return ids.values;
            return std::pair(ids.values, ids.offsets);
          },
          nb::arg("positions").noconvert(), nb::arg("threads") = 0, nb::call_guard<GilRelease>());

  nb::class_<IdMap>(m, "IdMap")
      .def(nb::new_([](const std::string& kind, const nb::bytes& folder) {
             return IdMap::create(kind, to_string(folder));
           }),
           nb::arg("kind"), nb::arg("folder") = nb::bytes(""))
      .def("add", add_ids, nb::arg("lists"), nb::arg("absent").none() = nb::none())
      .def("find", &find_ids<IdMap>, nb::arg("ids"), nb::arg("threads") = 0)
      .def_prop_ro("size", &IdMap::size)
      .def_prop_ro("memory", &IdMap::memory)
      .def("arrays", &IdMap::arrays, nb::arg("threads") = 0, nb::call_guard<GilRelease>());

  m.def(
      "parse_ids",
      [](const nb::object& texts, const std::string& kind) {
        const IdList list = list_of(texts);
        return kind == "uint64" ? parse_as<uint64_t>(list, DType::kUInt64)
                                : parse_as<int64_t>(list, DType::kInt64);
      },
      nb::arg("texts"), nb::arg("kind"));
}

}  // namespace ramet::bind
