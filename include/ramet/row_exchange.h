// Rows moving between ranks that share a table: lists of rows, through shared memory of a machine
// or in a message, and rows that a rank requests from others. The engine computes messages and
// receivers; the caller moves the bytes. Rows are named by their positions (whole_table.h).
//
// `is_local`: by rank, whether it is on this machine. Their rows are read and written in place, and
// never in a message.
//
// Memory: the caller's; unpacked arrays are views of the bytes. Threads and forks: any. Failure:
// kCorrupt for inconsistent bytes, before anything is returned or written.
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

// Packed lists, all numbers int64: the number of lists; the number of ids and the DType of each
// list; then the ids and rows of each. Ids, rows and the end are at multiples of kPackUnit.
inline constexpr int64_t kPackUnit = 64;

[[nodiscard]] int64_t packed_bytes(std::span<const RowList> lists);

// Writes packed_bytes() bytes. kInvalidArgument if a list has more or fewer rows than ids.
void pack(std::span<const RowList> lists, std::byte* out, int threads = 1);

// Views of lists packed at `bytes`, an address that is a multiple of 8. Rows have `form`; their
// dtype may be float32 instead. Ids are positions below `num_positions`. `sender`: its name in
// errors, "rank 3".
[[nodiscard]] std::vector<RowList> unpack(std::span<const std::byte> bytes,
                                          const RowForm& form,
                                          int64_t num_positions,
                                          const std::string& sender);

// Which values of a repeated row are sent.
enum class Repeats : uint8_t { kAll, kLast };

// For each rank that is not local: its rows of every list, packed. For other ranks nothing.
[[nodiscard]] Message push(std::span<const RowList> lists,
                           const RowPositions& positions,
                           const std::vector<bool>& is_local,
                           Repeats repeats,
                           int threads = 1);

// Rows that this rank gathers. Each distinct row is requested once from ranks that are not local.
class RowPull {
 public:
  // `wanted`: positions. It is kept, as a view.
  RowPull(std::span<const int64_t> wanted,
          const RowPositions& positions,
          const std::vector<bool>& is_local,
          const RowForm& form);

  // int64 positions, ascending, for each rank.
  [[nodiscard]] Message requests() const;
  // The rows that every rank requested from this one. It owns `own` of `rows`, all rows by
  // position.
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
  std::vector<int64_t> asked_;   // distinct positions, ascending
  std::vector<int64_t> counts_;  // of them, by rank
  std::vector<int64_t> at_;      // of each wanted row: where it begins in the answers; -1: local
};

}  // namespace ramet
