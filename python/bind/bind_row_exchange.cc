#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "group_thread.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/row_exchange.h"
#include "ramet/table_rows.h"

namespace ramet::bind {

namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Room = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// (ids, rows, whether the rows are the bits of bfloat16) of each list.
using Lists = std::vector<std::tuple<Ids, AnyArray, bool>>;

std::vector<RowList> borrow_lists(const Lists& lists) {
  std::vector<RowList> borrowed;
  for (const auto& [ids, rows, bfloat16] : lists) {
    borrowed.push_back({borrow(ids), borrow(rows)});
    if (bfloat16) borrowed.back().rows.dtype = DType::kBFloat16;
  }
  return borrowed;
}

using WriteRows = void (*)(const Array&, std::span<const RowList>, NodeRange, int);

template <WriteRows kWrite>
void write_lists(const Table& table,
                 const Lists& lists,
                 std::pair<int64_t, int64_t> own,
                 int threads) {
  const std::vector<RowList> borrowed = borrow_lists(lists);
  const GilRelease release;
  kWrite(table.rows(), borrowed, {own.first, own.second}, threads);
}

void pack_into(const Lists& lists, const Room& out, int threads) {
  const std::vector<RowList> borrowed = borrow_lists(lists);
  const int64_t bytes = packed_bytes(borrowed), room = static_cast<int64_t>(out.size());
  if (bytes > room) throw_invalid(bytes, " bytes do not fit into ", room);
  const GilRelease release;
  pack(borrowed, reinterpret_cast<std::byte*>(out.data()), threads);
}

// (ids, rows) of each list, views that keep the bytes alive. `like`: a table whose rows these are
// for, by position.
std::vector<std::pair<Array, Array>> unpack_from(const Bytes& bytes,
                                                 const Table& like,
                                                 const std::string& sender) {
  const Array kept = keep(AnyArray(bytes), false);
  const auto lists =
      unpack(std::as_bytes(kept.as<uint8_t>()), like.form(false), like.rows().rows(), sender);
  std::vector<std::pair<Array, Array>> result;
  for (const RowList& list : lists) {
    auto& [ids, rows] = result.emplace_back(ramet::borrow(list.ids), list.rows);
    ids.owner = rows.owner = kept.owner;
  }
  return result;
}

nb::tuple push_lists(const Lists& lists,
                     const RowPositions& positions,
                     const std::vector<bool>& is_local,
                     bool last,
                     int threads) {
  const std::vector<RowList> borrowed = borrow_lists(lists);
  Message message;
  {
    const GilRelease release;
    message = push(borrowed, positions, is_local, last ? Repeats::kLast : Repeats::kAll, threads);
  }
  return to_python(message);
}

nb::tuple answer(std::vector<int64_t> bytes,
                 const Bytes& data,
                 const Table& rows,
                 std::pair<int64_t, int64_t> own,
                 int threads) {
  const Message requests{std::move(bytes), borrow(AnyArray(data))};
  Message message;
  {
    const GilRelease release;
    message = RowPull::answer(requests, rows, {own.first, own.second}, threads);
  }
  return to_python(message);
}

// Into `out` where it is given, and then nothing is returned. `decode`: as float32.
Array finish(const RowPull& pull,
             std::vector<int64_t> bytes,
             const Bytes& data,
             const Table& rows,
             int64_t count,
             bool decode,
             const std::optional<OutArray>& out,
             int threads) {
  const RowForm form = rows.form(decode);
  const Message answers{std::move(bytes), borrow(AnyArray(data))};
  Array into =
      out ? Array(*out) : BufferPool::shared()->allocate_array(form.dtype, form.shape_of(count));
  into.dtype = form.dtype;
  into.shape = form.shape_of(count);
  const GilRelease release;
  pull.finish(answers, rows.rows(), into, threads);
  return out ? Array{} : into;
}

void bind_pull(nb::module_& m) {
  nb::class_<RowPull>(m, "RowPull")
      .def(
          "__init__",
          [](RowPull* self, const Ids& wanted, const RowPositions& positions,
             const std::vector<bool>& is_local, const Table& like) {
            new (self) RowPull(borrow(wanted), positions, is_local, like.form(false));
          },
          nb::arg("wanted").noconvert(), nb::kw_only(), nb::arg("positions"), nb::arg("is_local"),
          nb::arg("like"), nb::keep_alive<1, 2>())
      .def("requests", [](const RowPull& pull) { return to_python(pull.requests()); })
      .def_static("answer", &answer, nb::arg("bytes"), nb::arg("data").noconvert(), nb::kw_only(),
                  nb::arg("rows"), nb::arg("own"), nb::arg("threads"))
      .def("finish", &finish, nb::arg("bytes"), nb::arg("data").noconvert(), nb::kw_only(),
           nb::arg("rows"), nb::arg("count"), nb::arg("decode"), nb::arg("out").noconvert().none(),
           nb::arg("threads"));
}

}  // namespace

void bind_row_exchange(nb::module_& m) {
  m.def("set_rows", &write_lists<set_rows>, nb::arg("table"), nb::arg("lists").noconvert(),
        nb::kw_only(), nb::arg("own"), nb::arg("threads"));
  m.def("sum_rows", &write_lists<sum_rows>, nb::arg("table"), nb::arg("lists").noconvert(),
        nb::kw_only(), nb::arg("own"), nb::arg("threads"));
  m.def("packed_bytes", [](const Lists& lists) { return packed_bytes(borrow_lists(lists)); });
  m.def("pack", &pack_into, nb::arg("lists").noconvert(), nb::arg("out").noconvert(), nb::kw_only(),
        nb::arg("threads"));
  m.def("unpack", &unpack_from, nb::arg("bytes").noconvert(), nb::kw_only(), nb::arg("like"),
        nb::arg("sender"));
  m.def("push", &push_lists, nb::arg("lists").noconvert(), nb::kw_only(), nb::arg("positions"),
        nb::arg("is_local"), nb::arg("last"), nb::arg("threads"));
  bind_pull(m);
}

}  // namespace ramet::bind
