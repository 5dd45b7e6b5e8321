// RecordCache: records in memory in front of those of a file, each at most once.
//
// Rows are held while somebody needs them; of those that nobody holds the longest unused leave for
// others. A row that leaves is written first, if it changed; one that cannot be written stays.
//
// Why no CachePolicy: a record is in memory anyway from being read until its step, and so are those
// of announced batches. So rows whose next use is known are those that are held, the nearest first,
// and recency decides about the rest. A policy keeps books on every row of the table, not on those
// in memory, and cannot take back an announcement.
//
// Threads: any; exchanges with the file wait for each other, hold_found() waits for none of them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ramet/node_rows.h"
#include "ramet/record_table.h"
#include "record_file.h"
#include "record_memory.h"
#include "record_slots.h"

namespace ramet {

// Held slots; a slot appears once per hold.
using Holds = std::vector<int32_t>;

class RecordCache {
 public:
  // Of the rows `owned` among `num_rows` of a table. kNoSpace where memory does not have
  // `options.cache_rows`, also with what `predecessor` gives back: it is destroyed before this is
  // used.
  RecordCache(int64_t num_rows,
              NodeRows owned,
              std::vector<RecordColumn> columns,
              const RecordTableOptions& options,
              const RecordCache* predecessor = nullptr);

  [[nodiscard]] const RecordMemory& memory() const { return memory_; }
  [[nodiscard]] RecordFile& file() { return *file_; }
  [[nodiscard]] RecordCounts counts() const;
  [[nodiscard]] int64_t memory_bytes() const;
  [[nodiscard]] int64_t file_bytes() const;

  // Holds the rows `ids`, if all are in memory.
  [[nodiscard]] bool hold_found(std::span<const int64_t> ids, Holds& holds);
  // Holds them, and reads those that are not in memory; returns how many were. `within_room`:
  // unless more than cache_rows records would be in memory then; nullopt, and nothing is held. kIo,
  // kNoSpace: nothing is held.
  [[nodiscard]] std::optional<int64_t> bring_in(std::span<const int64_t> ids,
                                                bool within_room,
                                                int threads,
                                                Holds& holds);
  // Empties `holds`.
  void release(Holds& holds);

  // ---- of rows that are held
  // Their slots.
  [[nodiscard]] std::vector<int64_t> slots_of(std::span<const int64_t> ids) const;
  void set_changed(const Holds& holds);
  // How many slots there are, and their rows.
  [[nodiscard]] int64_t num_slots() const;
  [[nodiscard]] const int64_t* rows_of_slots() const { return slots_.rows(); }

  // ---- past the cache; while nobody changes records that are held
  [[nodiscard]] std::vector<Array> read(std::span<const int64_t> ids, int threads);
  // Of ids that ascend.
  void write(std::span<const int64_t> ids, std::span<const Array> columns);
  // Whether one of the rows may differ from what it began with.
  [[nodiscard]] bool may_differ(std::span<const int64_t> ids) const;

  void count_use(int64_t hits, int64_t misses);
  void count_ahead();

 private:
  [[nodiscard]] std::vector<int64_t> hold_some(std::span<const int64_t> ids, Holds& holds);
  [[nodiscard]] bool choose_leaving(size_t incoming, bool within_room, Holds& leaving);
  void exchange(std::vector<int64_t>& incoming, const Holds& leaving, int threads, Holds& holds);
  void write_back(const Holds& leaving);
  [[nodiscard]] Holds take_slots(std::span<const int64_t> rows, const Holds& leaving);
  void fill(std::span<const int64_t> rows, std::span<const int32_t> slots, int threads) const;
  [[nodiscard]] Array initial_rows(std::span<const int64_t> rows, int threads) const;
  [[nodiscard]] std::vector<Array> new_columns(int64_t rows) const;
  [[nodiscard]] bool is_initial(std::span<const Array> columns,
                                const Array& initial,
                                int64_t i) const;
  void note_read(const ReadCounts& counts);
  void note_written(const ReadCounts& counts);

  int64_t num_rows_, cache_rows_;
  RecordInit init_;
  RecordMemory memory_;
  std::mutex exchange_mutex_;  // of file_ and growing memory_; comes before mutex_
  std::unique_ptr<RecordFile> file_;
  mutable std::mutex mutex_;  // of slots_ and counts_
  RecordSlots slots_;
  RecordCounts counts_;
};

}  // namespace ramet
