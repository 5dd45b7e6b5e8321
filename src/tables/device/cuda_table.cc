#include "ramet/cuda_table.h"

#include <unistd.h>

#include <mutex>
#include <string>
#include <utility>

#include "base/system/space.h"
#include "device/device_memory.h"
#include "device_copies.h"
#include "kernels/cuda_backend.h"
#include "kernels/kernels.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "tables/cache/device_cache.h"

namespace ramet {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

std::string place(int device) {
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

// Two words in device memory that kernels count in.
struct Counters {
  uint64_t hits = 0;
  uint64_t bad = kNoBadId;
};

}  // namespace

// A table where the device reads it.
class CudaTable::Placed {
 public:
  Placed(Table its_table, const CudaTableOptions& options)
      : table(std::move(its_table)),
        device(options.device),
        placement(options.placement),
        counters_(allocate_on(device, sizeof(Counters))) {
    const bool caches = !options.cached.shape.empty();
    if (caches && placement == CudaPlacement::kDevice)
      refuse(table.name() + " is to lie in device memory, where a cache in front of it is no use");
    const Counters zero;
    copy_to(device, counters_.get(), &zero, sizeof(zero));
    if (placement == CudaPlacement::kInPlace) lock(options.copy_where_refused);
    if (placement == CudaPlacement::kPinnedCopy) copy_to_host();
    if (placement == CudaPlacement::kDevice) copy_to_device();
    if (caches) cache = make_device_cache(table, options.cached, device);
    cache.view.hits = &counters()->hits;
    device_bytes += cache.bytes;
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  // Kernels may still read what dies with this.
  ~Placed() {
    if (getpid() != process_) return;
    try {
      require_cuda().runtime.synchronize_all(device);
    } catch (const Error&) {
      // A kernel's own failure; its work is over.
    }
  }

  [[nodiscard]] Counters* counters() const { return static_cast<Counters*>(counters_.get()); }

  // Where the device finds the bytes of `array`; nullptr for ordinary memory of the host.
  [[nodiscard]] void* address(const Array& array, const char* what) const {
    if (array.device == device) return array.data;
    if (array.device != kHost)
      refuse(std::string(what) + " lie on " + place(array.device) + ", but " + table.name() +
             " is read by " + place(device));
    if (array.bytes() == 0 || !is_page_locked(array)) return nullptr;
    return require_cuda().runtime.device_address(device, array.data);
  }

  const Table table;
  const int device;
  CudaPlacement placement;
  std::string refusal;
  void* rows = nullptr;
  const float* scale = nullptr;
  DeviceCache cache;
  int64_t device_bytes = 0;
  mutable std::mutex checking;  // one at a time uses counters()->bad

 private:
  // A scale by row is read with its row, so it lies where the rows do; one by column is small.
  [[nodiscard]] bool scales_rows() const {
    return table.has_scale() && table.encoding() == Encoding::kInt8ScaledByRow;
  }

  void lock(bool copy_where_refused) {
    try {
      require_memory_to_hold(table.rows(), "page-locking " + table.name());
      locked_rows_ = HostRegistration(table.rows());
      if (scales_rows()) locked_scale_ = HostRegistration(table.scale());
    } catch (const Error& reason) {
      if (!copy_where_refused || reason.code() == ErrorCode::kInvalidArgument) throw;
      refusal = reason.what();
      placement = CudaPlacement::kPinnedCopy;
      return;
    }
    rows = locked_rows_.address(device);
    if (scales_rows())
      scale = static_cast<const float*>(locked_scale_.address(device));
    else
      copy_scale();
  }

  void copy_to_host() {
    locked_rows_ = HostRegistration(pinned_copy(table.rows()));
    rows = locked_rows_.address(device);
    if (!scales_rows()) return copy_scale();
    locked_scale_ = HostRegistration(pinned_copy(table.scale()));
    scale = static_cast<const float*>(locked_scale_.address(device));
  }

  void copy_to_device() {
    copy_ = device_copy(table.rows(), device);
    rows = const_cast<void*>(copy_.get());
    device_bytes += table.rows().bytes();
    copy_scale();
  }

  void copy_scale() {
    if (!table.has_scale()) return;
    copied_scale_ = device_copy(table.scale(), device);
    scale = static_cast<const float*>(copied_scale_.get());
    device_bytes += table.scale().bytes();
  }

  const pid_t process_ = getpid();
  std::shared_ptr<void> counters_;
  HostRegistration locked_rows_, locked_scale_;
  std::shared_ptr<const void> copy_, copied_scale_;
};

namespace {

void check_ids(const Array& ids) {
  if (ids.dtype != DType::kInt32 && ids.dtype != DType::kInt64)
    refuse("ids are " + ids.describe() + ", expected int32 or int64");
  if (ids.shape.size() != 1) refuse("ids are " + ids.describe() + ", expected one dimension");
}

// `rows` are one of the table's for each id, as `dtype`.
void check_rows(const Table& table, const Array& ids, const Array& rows, DType dtype) {
  std::vector<int64_t> shape = table.rows().shape;
  shape[0] = ids.rows();
  if (rows.dtype == dtype && rows.shape == shape) return;
  Array expected;
  expected.dtype = dtype;
  expected.shape = shape;
  refuse("the rows are " + rows.describe() + ", but of " + table.name() + " these are " +
         expected.describe());
}

// Calls work(bad) with a word in device memory, waits for what it gave the stream, and throws where
// the word names an id.
template <typename Placed, typename Work>
void checked(const Placed& placed, const Array& ids, CudaStreamHandle stream, Work work) {
  const CudaRuntime& runtime = require_cuda().runtime;
  const std::lock_guard lock(placed.checking);
  uint64_t* const word = &placed.counters()->bad;
  runtime.fill(placed.device, word, 0xFF, sizeof(*word), stream);
  work(word);
  uint64_t bad = kNoBadId;
  runtime.copy(placed.device, &bad, word, sizeof(bad), stream);
  runtime.synchronize(placed.device, stream);
  if (bad == kNoBadId) return;
  const int64_t size = item_size(ids.dtype);
  int64_t id = 0;
  int32_t narrow = 0;
  void* const to = size == 4 ? static_cast<void*>(&narrow) : &id;
  const char* const from = static_cast<const char*>(ids.data) + static_cast<int64_t>(bad) * size;
  runtime.copy(placed.device, to, from, size, stream);
  runtime.synchronize(placed.device, stream);
  throw Error(ErrorCode::kOutOfRange,
              "ids[" + std::to_string(bad) + "] = " + std::to_string(size == 4 ? narrow : id) +
                  " is outside the " + std::to_string(placed.table.rows().rows()) + " rows of " +
                  placed.table.name());
}

}  // namespace

CudaTable::CudaTable(Table table, const CudaTableOptions& options)
    : placed_(std::make_shared<const Placed>(std::move(table), options)) {}

const Table& CudaTable::table() const {
  return placed_->table;
}
int CudaTable::device() const {
  return placed_->device;
}
CudaPlacement CudaTable::placement() const {
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

void CudaTable::gather(const Array& ids,
                       const Array& out,
                       CudaStreamHandle stream,
                       const CudaGatherOptions& options) const {
  const Placed& placed = *placed_;
  const Table& table = placed.table;
  const bool decodes = options.decode && table.rows().dtype != DType::kFloat32;
  const Encoding encoding = decodes ? table.encoding() : Encoding::kFloat16;
  check_ids(ids);
  check_rows(table, ids, out, decodes ? DType::kFloat32 : table.rows().dtype);
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
  void* const to = placed.address(out, "the rows");
  if (to == nullptr && out.bytes() > 0)
    refuse("the rows are to be written to memory of the host that is not locked");
  std::shared_ptr<void> copied_ids;
  const void* id_data = placed.address(ids, "ids");
  if (id_data == nullptr) {
    copied_ids = allocate_on(placed.device, ids.bytes());
    cuda.runtime.copy(placed.device, copied_ids.get(), ids.data, ids.bytes(), stream);
    id_data = copied_ids.get();
  }
  CudaGatherArgs args{.table = placed.rows,
                      .num_rows = table.rows().rows(),
                      .row_bytes = table.rows().row_bytes(),
                      .ids = id_data,
                      .wide_ids = ids.dtype == DType::kInt64,
                      .num_ids = ids.rows(),
                      .out = to,
                      .cache = placed.cache.view,
                      .bad = options.bad,
                      .max_sms = options.max_sms,
                      .shift = options.shift};
  if (options.hits != nullptr) args.cache.hits = options.hits;
  if (decodes)
    cuda.rows.gather_decoded(placed.device, {args, encoding, placed.scale}, stream);
  else
    cuda.rows.gather(placed.device, args, stream);
  if (copied_ids != nullptr) cuda.runtime.synchronize(placed.device, stream);
}

void CudaTable::scatter(const Array& ids,
                        const Array& rows,
                        CudaStreamHandle stream,
                        const CudaScatterOptions& options) const {
  const Placed& placed = *placed_;
  const Table& table = placed.table;
  if (!table.rows().writable) refuse(table.name() + " is read-only, nothing can be written to it");
  if (placed.cache.num_rows > 0)
    refuse(table.name() + " has a device cache, whose rows a write would not reach");
  check_ids(ids);
  check_rows(table, ids, rows, table.rows().dtype);
  if (ids.rows() > INT32_MAX) refuse("ids are " + ids.describe() + ", at most 2^31 - 1 are taken");
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
  const void* const id_data = placed.address(ids, "ids");
  const void* const from = placed.address(rows, "the rows");
  if (id_data == nullptr || (from == nullptr && rows.bytes() > 0))
    refuse("ids and rows of a scatter lie in device memory or page-locked memory of the host");
  const int64_t needed = scatter_scratch_bytes(ids.rows());
  std::shared_ptr<void> own_scratch;
  void* scratch = options.scratch.data;
  if (options.scratch.shape.empty()) {
    own_scratch = allocate_on(placed.device, needed);
    scratch = own_scratch.get();
  } else if (options.scratch.device != placed.device || options.scratch.bytes() < needed) {
    refuse("scratch is " + options.scratch.describe() + " on " + place(options.scratch.device) +
           ", expected " + std::to_string(needed) + " bytes on " + place(placed.device));
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
