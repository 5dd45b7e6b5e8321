// RecordTable: rows that learn, and their state, in a file, for tables that memory does not hold.
//
// A row's weights and its optimizer's state are one record: read by one request, and written by one
// when it leaves memory, if it changed. Rows that never changed are not in the file: their weights
// are a function of (seed, row, column), their state is zero. So a table of any size is made at
// once, and its file holds only changed rows. A record is appended to the file when it is first
// written.
//
// Memory holds the records of batches in use, and, up to `cache_rows` in all, the records used
// last; each at most once. A batch is in use from gather() to the next gather() or update(); an
// announced batch from when it is read ahead. So if an earlier batch changes a row that was read
// ahead, the later batch gets the changed row. Batches are read ahead in their order, as far as
// there is room.
//
// If several ranks share the rows, each has a table of its own records. Ids and initial rows are
// still those of one table.
//
// Memory: memory_bytes(). The file has no name; it ends with the process. Threads: calls wait for
// each other, but for announce() and forget(), which do not wait for the disk. A table that is
// announced to has a thread that reads ahead. Forks: a child's calls are kInvalidArgument. Failure:
// kIo and kNoSpace name folder and bytes; a record that cannot be written stays in memory, and the
// table may be used on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/ownership.h"
#include "ramet/row_reader.h"
#include "ramet/table_rows.h"

namespace ramet {

// A part of each record, of this dtype and shape.
struct RecordColumn {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape = {};
};

// The initial values of the first column; other columns begin with zeros.
struct RecordInit {
  std::optional<Distribution> distribution = std::nullopt;  // of `seed`; none: `value`
  uint64_t seed = 0;
  double value = 0;
};

struct RecordTableOptions {
  std::string folder = {};  // of the file system
  int64_t cache_rows = 0;   // records in memory, if the batches under way are not more
  RecordInit init = {};
  RowReaderOptions::Method method = RowReaderOptions::Method::kAuto;
  // The records are of the rows that `rank` owns; without owners of all rows.
  std::optional<Ownership> owners = std::nullopt;
  int64_t rank = 0;
};

// Since the table was made.
struct RecordCounts {
  int64_t hits = 0, misses = 0;  // of ids of batches: in memory already, and not
  int64_t read_ahead = 0;        // batches that were when they were gathered
  ReadCounts read, written;      // records

  RecordCounts& operator+=(const RecordCounts& other);
};

// Records in memory, for update().
struct HeldRecords {
  std::vector<Array> columns;  // [slots, ...], of all slots; only those named may be touched
  std::vector<std::vector<int64_t>> slots;  // of each list of ids: where its rows are
  Array row_ids;                            // int64[slots]: the id of the row in each slot
};

class RecordTable {
 public:
  // Rows of the first column, which is float32, float16 or bfloat16. kNotFound and kIo where the
  // folder refuses a file; kNoSpace if the cache does not fit in memory.
  RecordTable(int64_t num_rows, RecordColumn weights, RecordTableOptions options);
  ~RecordTable();
  RecordTable(const RecordTable&) = delete;
  RecordTable& operator=(const RecordTable&) = delete;

  [[nodiscard]] int64_t num_rows() const;
  // The number of this rank's rows, and the ids of rows [begin, end) among them, in ascending
  // order.
  [[nodiscard]] int64_t num_owned() const;
  [[nodiscard]] Array owned(int64_t begin, int64_t end) const;
  [[nodiscard]] std::vector<RecordColumn> columns() const;
  [[nodiscard]] int64_t cache_rows() const;
  // Of a record in the file, with padding.
  [[nodiscard]] int64_t record_bytes() const;
  // "io_uring, direct, blocks of 512 bytes".
  [[nodiscard]] std::string how() const;
  [[nodiscard]] RecordCounts counts() const;
  // Of memory taken so far, and of the file.
  [[nodiscard]] int64_t memory_bytes() const;
  [[nodiscard]] int64_t file_bytes() const;

  // Gives records other columns behind the first, of zeros, and forgets those that were there. The
  // records are copied to a new file, unless there are no such columns before and after.
  void set_state(std::vector<RecordColumn> state);

  // Rows of the first column. Here and below, kOutOfRange names the first id that is none of this
  // rank's rows.
  [[nodiscard]] Array gather(std::span<const int64_t> ids, int threads = 1);
  // Calls body with the records of all rows that `lists` name, which it may change.
  void update(std::span<const std::span<const int64_t>> lists,
              const std::function<void(const HeldRecords&)>& body);
  // The caller's number of the last applied step; 0 before.
  [[nodiscard]] int64_t last_step() const;
  void set_last_step(int64_t number);

  // The columns of rows, past the cache.
  [[nodiscard]] std::vector<Array> read(std::span<const int64_t> ids, int threads = 1);
  // Sets them: `columns` are of such arrays. Ids ascend.
  void write(std::span<const int64_t> ids, std::span<const Array> columns);

  // Gets rows ready that batches will use. What is announced is advice: a batch that never comes,
  // or another than was announced, is no error. The row ids of a batch, int64 [n], those of earlier
  // steps first; they are read here. One thread calls it, while any others use the rows.
  // kOutOfRange for an id beyond the rows.
  void announce(const Array& ids);
  // Of the announced batches those that are not used yet will not come. Throws nothing.
  void forget();

 private:
  class State;

  [[nodiscard]] State& state() const;

  std::unique_ptr<State> state_;
};

}  // namespace ramet
