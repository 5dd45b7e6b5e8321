// The second phase: rows from runs, in order. So many buckets at once as memory holds are read from
// all runs, sorted in memory as in build_csc(), and written while the next ones are read.
//
// A bucket that memory does not hold is a graph of its own with fewer rows: its records are
// partitioned again, into runs of another file. So it goes on down to a single row. A row is in
// order as it is. Rows of undirected graphs are sorted by source; one that memory does not hold is
// partitioned by its sources, as if they were rows. This is a distribution sort for external memory
// (Aggarwal, Vitter: "The input/output complexity of sorting and related problems", CACM 1988).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "background.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "csc_files.h"
#include "edge_runs.h"
#include "graph/bucket.h"
#include "graph/edge_arrays.h"
#include "graph/radix_partition.h"
#include "memory_plan.h"
#include "run_file.h"
#include "run_ids.h"

namespace ramet {

// Buckets in runs. `of_sources`: of one row, whose sources are what is partitioned.
template <typename StoredRecord>
struct Level {
  using Stored = StoredRecord;
  const RunFile& runs;
  const Buckets& buckets;
  EdgeNumbers numbers;
  bool of_sources;
};

// What RadixPartitioner partitions again: by row, or by source.
template <typename Record>
struct RecordList {
  std::span<const Record> records;
  bool by_source;

  [[nodiscard]] int64_t size() const { return std::ssize(records); }
  [[nodiscard]] bool in_range(int64_t, int64_t, int64_t, int64_t) const { return true; }
  template <typename Visit>
  void visit(int64_t begin, int64_t end, Visit&& visit) const {
    for (const Record& record :
         records.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)))
      visit(record.source, by_source ? int64_t{record.source} : int64_t{record.row}, record.id);
  }
};

template <typename Index, typename Id>
class RowSort {
 public:
  using Record = EdgeRecord<Index, Id>;

  RowSort(std::string folder,
          const GraphSize& size,
          const MemoryPlan& plan,
          const Arena& arena,
          CscFiles<Index, Id>& files,
          const Progress& progress)
      : folder_(std::move(folder)),
        size_(size),
        plan_(plan),
        arena_(arena),
        results_at_(arena.bytes() * kRecord / (kRecord + result_bytes() + kShareOfRows) /
                    MemoryPlan::kLine * MemoryPlan::kLine),
        files_(files),
        progress_(progress) {}

  // All of it. Progress is that of the records.
  template <typename Level>
  void run(const Level& level) {
    total_ = level.runs.records() * int64_t{sizeof(typename Level::Stored)};
    sort(level, int64_t{sizeof(typename Level::Stored)});
    background_.wait();
  }

 private:
  static constexpr int64_t kRecord = sizeof(Record);
  static constexpr int64_t kShareOfRows = sizeof(int64_t) / 2;  // a row has two edges, or more
  static constexpr int64_t kSlack = 4 * MemoryPlan::kLine;      // arrays begin on lines

  // Of an edge, behind the records: undirected graphs are sorted by way of a copy.
  [[nodiscard]] int64_t result_bytes() const {
    return size_.undirected ? kRecord : int64_t{sizeof(Index) + sizeof(Id)};
  }

  // ---- groups of buckets

  // `progress_bytes`: that a record counts; 0 in what is sorted apart.
  template <typename Level>
  void sort(const Level& level, int64_t progress_bytes) {
    for (int64_t first = 0, last = 0; first < level.buckets.size(); first = last) {
      int64_t records = 0, rows = 0;
      for (; last < level.buckets.size(); ++last) {
        records += level.runs.records_of(last);
        rows += level.buckets.num_rows(last);
        if (!fits(records, rows, level.of_sources)) break;
      }
      if (last == first)
        sort_apart(level, last++);
      else
        sort_group(level, first, last);
      level.runs.release(first, last);
      for (int64_t b = first; b < last; ++b)
        done_ += level.runs.records_of(b) * progress_bytes;
      report();
    }
  }

  void report() const {
    if (progress_) progress_(done_, total_);
  }

  [[nodiscard]] bool fits(int64_t records, int64_t rows, bool of_sources) const {
    const int64_t room = arena_.bytes() - results_at_ - kSlack;
    return records * kRecord <= results_at_ && records * result_bytes() <= room &&
           (of_sources || rows <= (room - records * result_bytes()) / int64_t{sizeof(int64_t)});
  }

  template <typename Level>
  void sort_group(const Level& level, int64_t first, int64_t last) {
    std::vector<int64_t> begin{0};
    for (int64_t b = first; b < last; ++b)
      begin.push_back(begin.back() + level.runs.records_of(b));
    Record* const records = arena_.as<Record>(0);
    read(level, first, last, begin, records);
    background_.wait();                 // the results before were being written
    std::vector<int64_t> kept = begin;  // where the records of each bucket begin that are kept
    if (size_.undirected) deduplicate(level, first, begin, kept);
    place(level, first, begin, kept);
  }

  static int64_t lines(int64_t bytes) {
    return (bytes + MemoryPlan::kLine - 1) / MemoryPlan::kLine * MemoryPlan::kLine;
  }

  // So that threads have some turns each.
  [[nodiscard]] int64_t grain(int64_t buckets, int64_t turns = 4) const {
    const int64_t parts = plan_.threads * turns;
    return (buckets + parts - 1) / parts;
  }

  template <typename Level>
  void read(const Level& level,
            int64_t first,
            int64_t last,
            const std::vector<int64_t>& begin,
            Record* records) const {
    std::vector<int64_t> next = begin;
    // One turn: what is read from a run at once is as long as can be.
    parallel_for(
        last - first, grain(last - first, 1), plan_.threads, [&](int64_t from, int64_t to) {
          visit(level, first + from, first + to, [&](int64_t b, const auto& stored, RunIds ids) {
            int64_t& position = next[static_cast<size_t>(b - first)];
            for (const auto& record : stored)
              records[position++] = {record.row, record.source, static_cast<Id>(ids(record.id))};
          });
        });
  }

  // visit(bucket, records, what their ids mean) for buckets [first, last) of all runs.
  template <typename Stored>
  void visit(const Level<Stored>& level,
             int64_t first,
             int64_t last,
             FunctionRef<void(int64_t, std::span<const std::type_identity_t<Stored>>, RunIds)>
                 visit) const {
    const auto bytes = static_cast<size_t>(plan_.piece_bytes);
    const auto piece = std::make_unique_for_overwrite<std::byte[]>(bytes);
    for (int64_t r = 0; r < level.runs.runs(); ++r) {
      const RunIds ids = level.numbers.of_run(r);
      level.runs.read(r, first, last, {piece.get(), bytes},
                      [&](int64_t b, const std::byte* data, int64_t count) {
                        const auto* const records = reinterpret_cast<const Stored*>(data);
                        visit(b, std::span(records, static_cast<size_t>(count)), ids);
                      });
    }
  }

  template <typename Level>
  void deduplicate(const Level& level,
                   int64_t first,
                   const std::vector<int64_t>& begin,
                   std::vector<int64_t>& kept) const {
    Record *const records = arena_.as<Record>(0), *const scratch = arena_.as<Record>(results_at_);
    const auto buckets = std::ssize(begin) - 1;
    std::vector<int64_t> count(begin.size());
    parallel_for(buckets, grain(buckets), plan_.threads, [&](int64_t from, int64_t to) {
      BucketSorter<Record> sorter(level.buckets.num_rows(first), size_.num_src);
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
        count[i] = static_cast<int64_t>(sorter.deduplicate(
            std::span(records + begin[i], records + begin[i + 1]), scratch + begin[i]));
    });
    for (size_t i = 0; i + 1 < kept.size(); ++i)
      kept[i + 1] = kept[i] + count[i];
  }

  template <typename Level>
  void place(const Level& level,
             int64_t first,
             const std::vector<int64_t>& begin,
             const std::vector<int64_t>& kept) {
    const auto buckets = std::ssize(begin) - 1;
    const int64_t first_row = level.buckets.first_row(first), last = first + buckets - 1,
                  rows = level.of_sources ? 0
                                          : level.buckets.first_row(last) +
                                                level.buckets.num_rows(last) - first_row;
    const auto num_edges = static_cast<size_t>(kept.back());
    const Record* const records = arena_.as<Record>(0);
    auto* const offsets = arena_.as<int64_t>(results_at_);
    auto* const indices = arena_.as<Index>(results_at_ + lines(rows * int64_t{sizeof(int64_t)}));
    auto* const ids = reinterpret_cast<Id*>(indices + (num_edges + 15) / 16 * 16);
    parallel_for(buckets, grain(buckets), plan_.threads, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const auto b = static_cast<size_t>(i);
        const auto count = static_cast<size_t>(kept[b + 1] - kept[b]);
        const std::span bucket(records + begin[b], count);
        if (level.of_sources) {
          copy_sorted(bucket, indices + kept[b], ids + kept[b]);
          continue;
        }
        const std::span its_rows(offsets + level.buckets.first_row(first + i) - first_row,
                                 static_cast<size_t>(level.buckets.num_rows(first + i)));
        ramet::place<Record>(bucket, kept[b], {its_rows, indices, ids});
        for (int64_t& offset : its_rows)
          offset += position_;
      }
    });
    position_ += kept.back();
    background_.start([this, offsets = std::span(offsets, static_cast<size_t>(rows)),
                       indices = std::span(indices, num_edges), ids = std::span(ids, num_edges)] {
      files_.add_rows(offsets);
      files_.add_edges(indices, ids);
    });
  }

  static void copy_sorted(std::span<const Record> records, Index* indices, Id* ids) {
    for (const Record& record : records) {
      *indices++ = record.source;
      *ids++ = record.id;
    }
  }

  // ---- a bucket that memory does not hold

  template <typename Level>
  void sort_apart(const Level& level, int64_t bucket) {
    background_.wait();
    const int64_t rows = level.buckets.num_rows(bucket);
    if (rows > 1) return partition_again(level, bucket, rows, false);
    if (level.of_sources) return keep_lowest(level, bucket);
    files_.add_rows(std::span(&position_, 1));
    if (size_.undirected) return partition_again(level, bucket, size_.num_src, true);
    copy_row(level, bucket);
  }

  template <typename Stored>
  void partition_again(const Level<Stored>& level, int64_t bucket, int64_t rows, bool by_source) {
    const Buckets buckets = Buckets::at_most(plan_.buckets, rows);
    const int64_t capacity = arena_.room_for(2 * kRecord);
    RunFile runs(folder_, buckets.size(), kRecord, capacity);
    Record* const waiting = arena_.as<Record>(0);
    int64_t count = 0;
    Background writing;
    const auto write_run = [&] {
      const RecordList<Record> list{{waiting, static_cast<size_t>(count)}, by_source};
      RadixPartitioner partitioner(list, buckets, plan_.threads);
      static_cast<void>(partitioner.count(0, 0));
      writing.wait();
      const auto run = partitioner.template scatter<Record>(arena_.at(capacity * kRecord));
      count = 0;
      writing.start([&runs, run] { runs.write(run.begin, run.data()); });
      report();
    };
    visit(level, bucket, bucket + 1, [&](int64_t, const auto& stored, RunIds ids) {
      for (const auto& record : stored) {
        if (count == capacity) write_run();
        waiting[count++] = {record.row, record.source, static_cast<Id>(ids(record.id))};
      }
    });
    write_run();
    writing.wait();
    sort(Level<Record>{runs, buckets, {}, level.of_sources || by_source}, 0);
    background_.wait();
  }

  // One row, whose edges are in order.
  template <typename Level>
  void copy_row(const Level& level, int64_t bucket) {
    visit(level, bucket, bucket + 1, [&](int64_t, const auto& stored, RunIds of_run) {
      Index* const indices = arena_.as<Index>(0);
      Id* const ids = arena_.as<Id>(plan_.piece_bytes);
      for (size_t i = 0; i < stored.size(); ++i) {
        indices[i] = stored[i].source;
        ids[i] = static_cast<Id>(of_run(stored[i].id));
      }
      add_edges({indices, stored.size()}, {ids, stored.size()});
      report();
    });
  }

  // One pair of nodes.
  template <typename Level>
  void keep_lowest(const Level& level, int64_t bucket) {
    std::optional<Record> lowest;
    visit(level, bucket, bucket + 1, [&](int64_t, const auto& stored, RunIds of_run) {
      for (const auto& record : stored) {
        const auto id = static_cast<Id>(of_run(record.id));
        if (!lowest || id < lowest->id) lowest = {record.row, record.source, id};
      }
    });
    const Index source = lowest->source;
    const Id id = lowest->id;
    add_edges(std::span(&source, 1), std::span(&id, 1));
  }

  void add_edges(std::span<const Index> indices, std::span<const Id> ids) {
    files_.add_edges(indices, ids);
    position_ += std::ssize(indices);
  }

  std::string folder_;
  GraphSize size_;
  const MemoryPlan& plan_;
  const Arena& arena_;
  int64_t results_at_;  // in the arena; in front are records
  CscFiles<Index, Id>& files_;
  const Progress& progress_;
  int64_t position_ = 0;  // edges so far
  int64_t done_ = 0, total_ = 0;
  Background background_;  // last: it uses the others
};

}  // namespace ramet
