// An external permutation: a distribution by the position to read from, then one by the position to
// write to, so that no access is random on disk (Aggarwal, Vitter: "The input/output complexity of
// sorting and related problems", CACM 1988).
#include "ramet/external_order.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "background.h"
#include "base/parallel.h"
#include "graph/check_edges.h"
#include "graph/edge_arrays.h"
#include "graph/radix_partition.h"
#include "memory_plan.h"
#include "positions_by_row.h"
#include "ramet/error.h"
#include "ramet/pages.h"
#include "run_file.h"

namespace ramet {
namespace {

constexpr int64_t kIdsAtOnce = 1 << 12;
constexpr int64_t kRowsAtOnce = 1 << 12;

struct Gather {
  const Array& rows;
  const Array& ids;
  std::byte* out;
  int64_t row_bytes, num_rows, num_ids;

  [[nodiscard]] const std::byte* row(int64_t r) const {
    return static_cast<const std::byte*>(rows.data) + r * row_bytes;
  }
  void put(int64_t position, const std::byte* row) const {
    std::memcpy(out + position * row_bytes, row, static_cast<size_t>(row_bytes));
  }
  // Of ids [begin, end).
  void rows_of(int64_t begin, int64_t end, int64_t* to) const {
    with_ids(ids, [&](auto all) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t id = all[static_cast<size_t>(p)];
        if (id < 0 || id / 2 >= num_rows)  // 2 * num_rows might be too much for 64 bits
          throw_error(ErrorCode::kOutOfRange, "id ", p, " is ", id, ", outside [0, 2 * ", num_rows,
                      ")");
        *to++ = id < num_rows ? id : id - num_rows;
      }
    });
  }
};

void gather_at_once(const Gather& gather, int threads, const Progress& progress) {
  parallel_for(gather.num_ids, kIdsAtOnce, threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> rows(static_cast<size_t>(end - begin));
    gather.rows_of(begin, end, rows.data());
    for (int64_t p = begin; p < end; ++p)
      gather.put(p, gather.row(rows[static_cast<size_t>(p - begin)]));
  });
  if (progress) progress(gather.num_ids * gather.row_bytes, gather.num_ids * gather.row_bytes);
}

// Rows on their way: the position, counted from the first of its bucket, and the row.
class RowRuns {
 public:
  RowRuns(const Gather& gather, const ExternalOptions& options, const Progress& progress)
      : gather_(gather),
        progress_(progress),
        plan_(options.memory, options.threads),
        record_bytes_(kPositionBytes + gather.row_bytes),
        arena_(plan_.arena_bytes),
        capacity_(std::min(arena_.room_for(2 * kWord + int64_t{sizeof(Way)} + record_bytes_),
                           kMostRecords)),
        buckets_(Buckets::at_most(gather.num_ids * gather.row_bytes / (options.memory / 2) + 1,
                                  gather.num_ids)),
        runs_(options.folder, buckets_.size(), record_bytes_, capacity_) {}

  void write(const PositionsByRow& sorted) {
    const auto begin = sorted.begin.as<int64_t>();
    with_ids(sorted.positions, [&](auto positions) {
      int64_t row = 0, first_row = 0, count = 0;
      for (int64_t q = 0; q < gather_.num_ids; ++q) {
        while (begin[static_cast<size_t>(row) + 1] <= q)
          ++row;
        if (count == capacity_ || row - first_row > std::numeric_limits<int32_t>::max()) {
          write_run(first_row, row, count);
          count = 0;
        }
        if (count == 0) first_row = row;
        from()[count] = row - first_row;
        to()[count++] = positions[static_cast<size_t>(q)];
      }
      write_run(first_row, row, count);
    });
    background_.wait();
  }

  void put_in_order() {
    for (int64_t b = 0; b < buckets_.size(); ++b) {
      parallel_for(runs_.runs(), 1, plan_.threads, [&](int64_t run, int64_t) { put(run, b); });
      runs_.release(b, b + 1);
      report(buckets_.first_row(b) + buckets_.num_rows(b));
    }
  }

 private:
  using Way = EdgeRecord<int32_t, NoId>;  // from a row of the run to a position in the bucket
  static constexpr int64_t kPositionBytes = sizeof(uint32_t), kWord = sizeof(int64_t);
  static constexpr int64_t kMostRecords = int64_t{1} << 30;

  [[nodiscard]] int64_t* from() const { return arena_.as<int64_t>(0); }
  [[nodiscard]] int64_t* to() const { return from() + capacity_; }

  void report(int64_t positions) const {
    if (progress_) progress_(positions * gather_.row_bytes, gather_.num_ids * gather_.row_bytes);
  }

  void write_run(int64_t first_row, int64_t last_row, int64_t count) {
    read_ahead(gather_.row(first_row), (last_row + 1 - first_row) * gather_.row_bytes);
    const auto n = static_cast<size_t>(count);
    const EdgeArrays<int64_t> ways{{from(), n}, {to(), n}, false};
    RadixPartitioner partitioner(ways, buckets_, plan_.threads);
    static_cast<void>(partitioner.count(std::numeric_limits<int64_t>::max(), gather_.num_ids));
    const auto run = partitioner.template scatter<Way>(arena_.at(2 * kWord * capacity_));
    background_.wait();  // the run before was where this one goes
    auto* const records = arena_.as<std::byte>((2 * kWord + int64_t{sizeof(Way)}) * capacity_);
    parallel_for(count, kRowsAtOnce, plan_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Way way = run.data()[i];
        std::byte* const record = records + i * record_bytes_;
        std::memcpy(record, &way.row, kPositionBytes);
        std::memcpy(record + kPositionBytes, gather_.row(first_row + way.source),
                    static_cast<size_t>(gather_.row_bytes));
      }
    });
    background_.start([this, begin = run.begin, records] { runs_.write(begin, records); });
    report(0);
  }

  void put(int64_t run, int64_t bucket) const {
    const auto bytes = static_cast<size_t>(std::max(plan_.piece_bytes, record_bytes_));
    const auto piece = std::make_unique_for_overwrite<std::byte[]>(bytes);
    const int64_t first = buckets_.first_row(bucket);
    runs_.read(run, bucket, bucket + 1, {piece.get(), bytes},
               [&](int64_t, const std::byte* record, int64_t count) {
                 for (; count > 0; --count, record += record_bytes_) {
                   uint32_t position = 0;
                   std::memcpy(&position, record, kPositionBytes);
                   gather_.put(first + position, record + kPositionBytes);
                 }
               });
  }

  const Gather& gather_;
  const Progress& progress_;
  MemoryPlan plan_;
  int64_t record_bytes_;
  Arena arena_;
  int64_t capacity_;
  Buckets buckets_;
  RunFile runs_;
  Background background_;  // last: it uses the others
};

Gather checked(const Array& rows,
               const Array& ids,
               const Array& out,
               const ExternalOptions& options) {
  require_ids(ids, "ids");
  const auto is_table = [](const Array& array) { return !array.shape.empty(); };
  if (!is_table(rows) || !is_table(out) || rows.dtype != out.dtype || out.rows() != ids.rows() ||
      !std::equal(rows.shape.begin() + 1, rows.shape.end(), out.shape.begin() + 1, out.shape.end()))
    throw_invalid("rows are ", rows.describe(), ", ids ", ids.describe(), " and out ",
                  out.describe(), ", which do not fit each other");
  require_external(options, std::max(kLeastOrderMemory, 24 * (rows.row_bytes() + 28)));
  return {rows, ids, static_cast<std::byte*>(out.data), rows.row_bytes(), rows.rows(), ids.rows()};
}

}  // namespace

void external_gather(const Array& rows,
                     const Array& ids,
                     const Array& out,
                     const ExternalOptions& options,
                     const Progress& progress) {
  const Gather gather = checked(rows, ids, out, options);
  if (rows.bytes() <= options.memory) return gather_at_once(gather, options.threads, progress);
  const PositionsByRow sorted = sort_positions(
      gather.num_ids, gather.num_rows,
      [&](int64_t begin, int64_t end, int64_t* to) { gather.rows_of(begin, end, to); }, options,
      [&](int64_t, int64_t) {
        if (progress) progress(0, out.bytes());
      });
  RowRuns runs(gather, options, progress);
  runs.write(sorted);
  runs.put_in_order();
}

}  // namespace ramet
