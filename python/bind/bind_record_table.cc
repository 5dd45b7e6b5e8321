#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "paths.h"
#include "ramet/optimizer.h"
#include "ramet/record_table.h"

namespace ramet::bind {

namespace {

void make(RecordTable* self,
          int64_t num_rows,
          const Array& row,
          bool bfloat16,
          const nb::bytes& folder,
          int64_t cache_rows,
          std::optional<Distribution> distribution,
          double value,
          uint64_t seed,
          bool io_uring,
          const Ownership& owners,
          int64_t rank) {
  RecordTableOptions options;
  options.folder = to_string(folder);
  options.cache_rows = cache_rows;
  options.init = {.distribution = distribution, .seed = seed, .value = value};
  using Method = RowReaderOptions::Method;
  options.method = io_uring ? Method::kAuto : Method::kThreads;
  options.owners = owners;
  options.rank = rank;
  const GilRelease release;
  new (self) RecordTable(num_rows, {bfloat16 ? DType::kBFloat16 : row.dtype, row.shape}, options);
}

// `state`: of each column an array of one row.
void set_state(RecordTable& table, const std::vector<Array>& state) {
  std::vector<RecordColumn> columns;
  for (const Array& row : state)
    columns.push_back({row.dtype, {row.shape.begin() + 1, row.shape.end()}});
  table.set_state(std::move(columns));
}

// `bfloat16`: the first column holds the bits.
void write_records(RecordTable& table,
                   std::span<const int64_t> ids,
                   std::vector<Array> columns,
                   bool bfloat16) {
  if (bfloat16) columns.front().dtype = DType::kBFloat16;
  table.write(ids, columns);
}

void apply_to_records(RecordTable& records,
                      const OptimizerStep& step,
                      const std::vector<std::pair<Ids, Array>>& gradients,
                      int threads) {
  std::vector<RowList> lists;
  for (const auto& [ids, values] : gradients)
    lists.push_back({borrow(ids), values});
  apply_gradients(step, records, lists, threads);
}

nb::dict counts(const RecordTable& table) {
  RecordCounts counts;
  {
    const GilRelease release;
    counts = table.counts();
  }
  nb::dict result;
  result["hits"] = counts.hits;
  result["misses"] = counts.misses;
  result["batches_read_ahead"] = counts.read_ahead;
  result["rows_read"] = counts.read.rows;
  result["requests_read"] = counts.read.requests;
  result["bytes_read"] = counts.read.bytes;
  result["rows_written"] = counts.written.rows;
  result["requests_written"] = counts.written.requests;
  result["bytes_written"] = counts.written.bytes;
  return result;
}

}  // namespace

void bind_record_table(nb::module_& m) {
  nb::class_<RecordTable>(m, "RecordTable")
      .def("__init__", &make, nb::arg("num_rows"), nb::arg("row").noconvert(), nb::kw_only(),
           nb::arg("bfloat16"), nb::arg("folder"), nb::arg("cache_rows"),
           nb::arg("distribution").none(), nb::arg("value"), nb::arg("seed"), nb::arg("io_uring"),
           nb::arg("owners"), nb::arg("rank"))
      .def("set_state", &set_state, nb::arg("state"), nb::call_guard<GilRelease>())
      .def("gather", &RecordTable::gather, nb::arg("ids").noconvert(), nb::kw_only(),
           nb::arg("threads"), nb::call_guard<GilRelease>())
      .def("owned", &RecordTable::owned, nb::arg("begin"), nb::arg("end"),
           nb::call_guard<GilRelease>())
      .def("read", &RecordTable::read, nb::arg("ids").noconvert(), nb::kw_only(),
           nb::arg("threads"), nb::call_guard<GilRelease>())
      .def("write", &write_records, nb::arg("ids").noconvert(), nb::arg("columns"), nb::kw_only(),
           nb::arg("bfloat16"), nb::call_guard<GilRelease>())
      .def("apply_gradients", &apply_to_records, nb::arg("step"), nb::arg("gradients"),
           nb::kw_only(), nb::arg("threads"), nb::call_guard<GilRelease>())
      .def("announce", &RecordTable::announce, nb::arg("ids").noconvert(),
           nb::call_guard<GilRelease>())
      .def("forget", &RecordTable::forget)
      .def("counts", &counts)
      .def_prop_ro("num_rows", &RecordTable::num_rows)
      .def_prop_ro("num_owned", &RecordTable::num_owned)
      .def_prop_rw("last_step", &RecordTable::last_step, &RecordTable::set_last_step)
      .def_prop_ro("cache_rows", &RecordTable::cache_rows)
      .def_prop_ro("record_bytes", &RecordTable::record_bytes)
      .def_prop_ro("how", &RecordTable::how)
      .def_prop_ro("memory_bytes", &RecordTable::memory_bytes)
      .def_prop_ro("file_bytes", &RecordTable::file_bytes);
}

}  // namespace ramet::bind
