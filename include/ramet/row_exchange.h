// Rows on their way between ranks that share a table: lists of rows, through memory that ranks of a
// machine see or in a message, and rows that a rank asks others for. The engine computes what goes
// where; the caller moves the bytes. Rows are named by their places (whole_table.h).
//
// `reached`: by rank, whether it is on this machine. Rows of these are read and written where they
// lie, and never in a message.
//
// Memory: the caller's; what is unpacked is a view of the bytes. Threads and forks: any.
// Failure: kCorrupt for bytes that lie, before anything is handed out or written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ramet/exchange.h"
#include "ramet/row_list.h"
#include "ramet/table.h"
#include "ramet/whole_table.h"

namespace ramet {

// Packed lists, all numbers int64: the number of lists; of each, how many ids and which DType; then
// of each its ids and its rows. Ids and rows begin at multiples of kPackUnit, as the end does.
inline constexpr int64_t kPackUnit = 64;

[[nodiscard]] int64_t packed_bytes(std::span<const RowList> lists);

// Writes packed_bytes() bytes. kInvalidArgument where a list has more or fewer rows than ids.
void pack(std::span<const RowList> lists, std::byte* out, int threads = 1);

// Views of what was packed at `bytes`, an address that is a multiple of 8. Rows are as `form` says;
// their dtype may be float32 instead. Ids are places below `num_places`. `sender` is how errors
// name who packed: "rank 3".
[[nodiscard]] std::vector<RowList> unpack(std::span<const std::byte> bytes,
                                          const RowForm& form,
                                          int64_t num_places,
                                          const std::string& sender);

// Which of the rows that are given for one row travel.
enum class Repeats : uint8_t { kAll, kLast };

// For each rank that is not reached: of every list what that rank owns, packed. For others nothing.
[[nodiscard]] Message push(std::span<const RowList> lists,
                           const RowPlaces& places,
                           const std::vector<bool>& reached,
                           Repeats repeats,
                           int threads = 1);

// Rows that this rank gathers. Of ranks that are not reached each distinct row is asked for once.
class RowPull {
 public:
  // `wanted`: places. It is kept, as a view.
  RowPull(std::span<const int64_t> wanted,
          const RowPlaces& places,
          const std::vector<bool>& reached,
          const RowForm& form);

  // int64 places, ascending, for each rank.
  [[nodiscard]] Message requests() const;
  // The rows that every rank asked this one for, which owns `own` of `rows`, all rows by place.
  [[nodiscard]] static Message answer(const Message& requests,
                                      const Table& rows,
                                      NodeRange own,
                                      int threads = 1);
  // out[i] = the row wanted[i], from `answers` or from `rows`. `out`: writable [wanted, ...], of
  // the form's dtype, or float32, which float16 and bfloat16 become.
  void finish(const Message& answers, const Array& rows, const Array& out, int threads = 1) const;

 private:
  std::span<const int64_t> wanted_;
  int64_t row_bytes_;
  std::vector<int64_t> asked_;   // distinct places, ascending
  std::vector<int64_t> counts_;  // of them, by rank
  std::vector<int64_t> at_;      // of each wanted row: where it begins in the answers; -1: reached
};

}  // namespace ramet
