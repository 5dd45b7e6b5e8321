// Lists of rows on their way to another rank, through memory that both see or in a message.
//
// Memory: the caller's; what is unpacked is a view of the bytes. Threads and forks: any.
// Failure: kCorrupt for bytes that are no lists, before anything is handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ramet/row_list.h"
#include "ramet/table.h"

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

}  // namespace ramet
