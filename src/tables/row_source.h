// RowSource: rows by row id, wherever they come from: the processors, a device, a cache in front of
// another source.
//
// A gather has two halves, so that slow rows are on their way while the caller does other work:
// submit() starts a read, RowRead::complete() waits for its rows. Several reads may be outstanding,
// and be completed in any order. Destroying a read that is not complete waits for it, too.
//
// Memory: rows come in buffers of the caller's pool; a source keeps its table alive, and must
// outlive its reads. Threads: any, several at once. Forks: sources of a device do not survive one.
// Failure: both halves throw what gathering throws (table.h, cuda_table.h). A device does not say
// which ids are outside its table: it leaves their rows as they are.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda.h"
#include "ramet/exchange.h"
#include "ramet/placement.h"
#include "ramet/progress.h"
#include "ramet/row_order.h"
#include "ramet/row_reader.h"
#include "ramet/table.h"
#include "ramet/whole_table.h"

namespace ramet {

class CudaTable;

// What the thread of a group of ranks does for a read.
using ExchangeWork = std::function<void(const Exchange&)>;

// What a thread reads with.
struct ReadContext {
  std::shared_ptr<BufferPool> pool;  // of the rows: of the host, or of a device, for `stream`
  int threads = 1;                   // that gather on the host, at most
  // For rows in device memory.
  CudaStreamHandle stream = nullptr;
  std::shared_ptr<BufferPool> pinned = nullptr;  // page-locked, for what is copied to the device
  int max_sms = kEnoughSms;                      // of CudaGatherArgs
  RowOrder order = RowOrder::kAuto;
  // For rows on other machines: takes what the thread of the group is to do, in this order, before
  // a read is completed. It uses the read.
  std::vector<ExchangeWork>* exchanges = nullptr;
};

struct GatheredRows {
  Array rows;
  CacheStats cache;         // of these rows
  ReadCounts read = {};     // from files
  double read_seconds = 0;  // that complete() waited for them
};

class RowRead {
 public:
  RowRead() = default;
  RowRead(const RowRead&) = delete;
  RowRead& operator=(const RowRead&) = delete;
  virtual ~RowRead() = default;

  // Waits for the rows, and hands them out: once.
  [[nodiscard]] virtual GatheredRows complete() = 0;
};

class RowSource {
 public:
  // `form`: of the rows that are handed out.
  explicit RowSource(RowForm form) : form_(std::move(form)) {}
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  [[nodiscard]] const RowForm& form() const { return form_; }
  // Where ids must lie: kHost, or the device in whose memory.
  [[nodiscard]] virtual int ids_device() const { return kHost; }
  // Whether rows that were submitted come while the caller does other work, so that it pays to
  // submit several batches ahead.
  [[nodiscard]] virtual bool reads_ahead() const { return false; }
  // Ids of rows in this process's addresses, where others are not: a cache is for the others alone.
  [[nodiscard]] virtual std::vector<NodeRange> local_ranges() const { return {}; }
  // The table, where kernels of a device read its rows in memory of that device; else nullptr.
  [[nodiscard]] virtual const CudaTable* on_device() const { return nullptr; }
  // Starts to read the rows `ids`, int64 [n], which must stay as they are until the read is
  // complete.
  [[nodiscard]] virtual std::unique_ptr<RowRead> submit(const Array& ids,
                                                        const ReadContext& context) const = 0;

 private:
  RowForm form_;
};

struct RowSourceOptions {
  bool decode = true;                       // encoded rows come as float32
  bool as_bfloat16 = false;                 // rows of floats come as bfloat16
  int device = kHost;                       // where rows come to
  Location placement = Location::kInPlace;  // kAuto must have been decided
  Array cached = {};       // with kInPlace: the rows to keep in device memory (CudaTableOptions)
  Array cached_rows = {};  // the same: these rows there
  Progress progress = {};  // with kInPlace: of page-locking
  std::shared_ptr<RowReader> reader = nullptr;  // with kDisk: of the rows' files
};

[[nodiscard]] std::shared_ptr<const RowSource> make_row_source(const Table& table,
                                                               const RowSourceOptions& options);

// Of rows by position, some of which other ranks send (tables/exchange/pulled_rows.h).
[[nodiscard]] std::shared_ptr<const RowSource> make_pulled_source(
    const Table& rows, RowPositions positions, std::vector<bool> is_local, int rank, bool decode);

// `source`, of `num_rows` rows that come to memory of the host, behind a cache of the rows `ids`,
// which are read now and do not change. See also stream_cache.h.
[[nodiscard]] std::shared_ptr<const RowSource> with_preloaded_rows(
    std::shared_ptr<const RowSource> source, int64_t num_rows, std::span<const int64_t> ids);

}  // namespace ramet
