#include "ramet/cuda_table.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "device/device_memory.h"
#include "ordered_ids.h"
#include "placed_table.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::string describe_device(int device) {
  return device == kHost ? "the host" : "device " + std::to_string(device);
}

// All of it: what shares a page with registered memory may be so in part.
bool is_page_locked(const Array& array) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto end = reinterpret_cast<uintptr_t>(array.data) + static_cast<uintptr_t>(array.bytes());
  for (auto at = reinterpret_cast<uintptr_t>(array.data); at < end; at = at / page * page + page)
    if (!require_cuda().runtime.is_page_locked(reinterpret_cast<const void*>(at))) return false;
  return true;
}

// Where the table's device finds the bytes of `array`; nullptr for ordinary host memory.
void* device_address(const PlacedTable& placed, const Array& array, const char* what) {
  if (array.device == placed.device) return array.data;
  if (array.device != kHost)
    throw_invalid(what, " lie on ", describe_device(array.device), ", but ", placed.table.name(),
                  " is read by ", describe_device(placed.device));
  if (array.bytes() == 0 || !is_page_locked(array)) return nullptr;
  return require_cuda().runtime.device_address(placed.device, array.data);
}

void check_ids(const Array& ids) {
  if (ids.dtype != DType::kInt32 && ids.dtype != DType::kInt64)
    throw_invalid("ids are ", ids.describe(), ", expected int32 or int64");
  if (ids.shape.size() != 1) throw_invalid("ids are ", ids.describe(), ", expected one dimension");
}

// `rows` are one of the table's for each id, in `form`.
void check_rows(const Table& table, const RowForm& form, const Array& ids, const Array& rows) {
  Array expected;
  expected.dtype = form.dtype;
  expected.shape = form.shape_of(ids.rows());
  if (rows.dtype == expected.dtype && rows.shape == expected.shape) return;
  throw_invalid("the rows are ", rows.describe(), ", but of ", table.name(), " these are ",
                expected.describe());
}

int64_t read_placed_id(const PlacedTable& placed,
                       const Array& ids,
                       uint64_t position,
                       CudaStreamHandle stream) {
  const int64_t size = item_size(ids.dtype);
  const auto* const from =
      static_cast<const char*>(ids.data) + static_cast<int64_t>(position) * size;
  int64_t id = 0;
  int32_t narrow = 0;
  const CudaRuntime& runtime = require_cuda().runtime;
  runtime.copy(placed.device, size == 4 ? static_cast<void*>(&narrow) : &id, from, size, stream);
  runtime.synchronize(placed.device, stream);
  return size == 4 ? narrow : id;
}

// Calls work(bad) with a word in device memory, waits for the stream, and throws where the word
// names an id.
template <typename Work>
void checked(const PlacedTable& placed, const Array& ids, CudaStreamHandle stream, Work work) {
  const CudaRuntime& runtime = require_cuda().runtime;
  const std::lock_guard lock(placed.checking);
  uint64_t* const word = &placed.counters()->bad;
  runtime.fill(placed.device, word, 0xFF, sizeof(*word), stream);
  work(word);
  uint64_t bad = kNoBadId;
  runtime.copy(placed.device, &bad, word, sizeof(bad), stream);
  runtime.synchronize(placed.device, stream);
  if (bad == kNoBadId) return;
  throw_error(ErrorCode::kOutOfRange, "ids[", bad, "] = ", read_placed_id(placed, ids, bad, stream),
              " is outside the ", placed.table.rows().rows(), " rows of ", placed.table.name());
}

}  // namespace

CudaTable::CudaTable(Table table, const CudaTableOptions& options)
    : placed_(std::make_shared<const PlacedTable>(std::move(table), options)) {}

const Table& CudaTable::table() const {
  return placed_->table;
}
int CudaTable::device() const {
  return placed_->device;
}
Location CudaTable::placement() const {
  return placed_->placement;
}
const std::string& CudaTable::refusal() const {
  return placed_->refusal;
}
int64_t CudaTable::num_cached() const {
  return placed_->cache.num_rows;
}
int64_t CudaTable::device_bytes() const {
  return placed_->device_bytes;
}

Array CudaTable::rows() const {
  Array rows = placed_->table.rows();
  rows.data = placed_->rows;
  rows.owner = placed_;
  rows.device = placed_->device;
  return rows;
}

Array CudaTable::scale() const {
  Array scale = placed_->table.scale();
  if (!placed_->table.has_scale()) return scale;
  scale.data = const_cast<float*>(placed_->scale);
  scale.owner = placed_;
  scale.device = placed_->device;
  return scale;
}

void CudaTable::gather(const Array& ids,
                       const Array& out,
                       CudaStreamHandle stream,
                       const CudaGatherOptions& options) const {
  const PlacedTable& placed = *placed_;
  const Table& table = placed.table;
  const RowForm form = table.form(options.decode);
  check_ids(ids);
  check_rows(table, form, ids, out);
  if (ids.rows() == 0) return;
  if (options.check) {
    CudaGatherOptions unchecked = options;
    unchecked.check = false;
    return checked(placed, ids, stream, [&](uint64_t* bad) {
      unchecked.bad = bad;
      gather(ids, out, stream, unchecked);
    });
  }

  const CudaBackend& cuda = require_cuda();
  void* const to = device_address(placed, out, "the rows");
  if (to == nullptr && out.bytes() > 0)
    throw_invalid("the rows are to be written to memory of the host that is not locked");
  std::shared_ptr<void> copied_ids;
  const void* id_data = device_address(placed, ids, "ids");
  if (id_data == nullptr) {
    copied_ids = allocate_on(placed.device, ids.bytes());
    cuda.runtime.copy(placed.device, copied_ids.get(), ids.data, ids.bytes(), stream);
    id_data = copied_ids.get();
  }
  const auto ordered = order_ids(placed, options.order, id_data, ids.dtype, ids.rows(), stream);
  CudaGatherArgs args{.table = placed.rows,
                      .num_rows = table.rows().rows(),
                      .row_bytes = table.rows().row_bytes(),
                      .ids = ordered ? ordered->ids.data : id_data,
                      .wide_ids = ids.dtype == DType::kInt64,
                      .num_ids = ids.rows(),
                      .out = to,
                      .positions = ordered ? ordered->positions.as<uint32_t>().data() : nullptr,
                      .on_host = placed.on_host,
                      .cache = placed.cache.view,
                      .bad = options.bad,
                      .max_sms = options.max_sms,
                      .shift = options.shift && placed.on_host};
  if (options.hits != nullptr) args.cache.hits = options.hits;
  if (form.dtype != table.rows().dtype)
    cuda.rows.gather_decoded(placed.device, {args, table.encoding(), placed.scale}, stream);
  else
    cuda.rows.gather(placed.device, args, stream);
  if (copied_ids != nullptr) cuda.runtime.synchronize(placed.device, stream);
}
void CudaTable::scatter(const Array& ids,
                        const Array& rows,
                        CudaStreamHandle stream,
                        const CudaScatterOptions& options) const {
  const PlacedTable& placed = *placed_;
  const Table& table = placed.table;
  if (!table.rows().writable)
    throw_invalid(table.name(), " is read-only, nothing can be written to it");
  if (placed.cache.num_rows > 0)
    throw_invalid(table.name(), " has a device cache, whose rows a write would not reach");
  check_ids(ids);
  check_rows(table, table.form(false), ids, rows);
  if (ids.rows() > INT32_MAX)
    throw_invalid("ids are ", ids.describe(), ", at most 2^31 - 1 are taken");
  if (ids.rows() == 0) return;
  if (options.check) {
    CudaScatterOptions unchecked = options;
    unchecked.check = false;
    return checked(placed, ids, stream, [&](uint64_t* bad) {
      unchecked.bad = bad;
      scatter(ids, rows, stream, unchecked);
    });
  }

  const CudaBackend& cuda = require_cuda();
  const void* const id_data = device_address(placed, ids, "ids");
  const void* const from = device_address(placed, rows, "the rows");
  if (id_data == nullptr || (from == nullptr && rows.bytes() > 0))
    throw_invalid(
        "ids and rows of a scatter lie in device memory or page-locked memory of the host");
  const int64_t needed = scatter_scratch_bytes(ids.rows());
  std::shared_ptr<void> own_scratch;
  void* scratch = options.scratch.data;
  if (options.scratch.shape.empty()) {
    own_scratch = allocate_on(placed.device, needed);
    scratch = own_scratch.get();
  } else if (options.scratch.device != placed.device || options.scratch.bytes() < needed) {
    throw_invalid("scratch is ", options.scratch.describe(), " on ",
                  describe_device(options.scratch.device), ", expected ", needed, " bytes on ",
                  describe_device(placed.device));
  }
  cuda.rows.scatter(placed.device,
                    {.table = placed.rows,
                     .num_rows = table.rows().rows(),
                     .row_bytes = table.rows().row_bytes(),
                     .ids = id_data,
                     .wide_ids = ids.dtype == DType::kInt64,
                     .num_ids = ids.rows(),
                     .rows = from,
                     .scratch = scratch,
                     .bad = options.bad,
                     .max_sms = options.max_sms},
                    stream);
  if (own_scratch != nullptr) cuda.runtime.synchronize(placed.device, stream);
}

int64_t CudaTable::num_hits() const {
  uint64_t hits = 0;
  const CudaRuntime& runtime = require_cuda().runtime;
  runtime.copy(placed_->device, &hits, &placed_->counters()->hits, sizeof(hits), nullptr);
  runtime.synchronize(placed_->device, nullptr);
  return static_cast<int64_t>(hits);
}

int64_t CudaTable::scatter_scratch_bytes(int64_t num_ids) {
  return ramet::scatter_scratch_bytes(num_ids);
}

}  // namespace ramet
