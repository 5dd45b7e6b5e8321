// Arrays that memory cannot hold: which those are, and how single rows of them are read from disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "ramet/array.h"

namespace ramet {

// The arrays of a store that are given up so that memory can hold the others: none if it can hold
// all, else tables, the largest first. Where the topology is more than half of memory, all but
// small arrays: batches and caches take the other half. `available` is asked for bytes of memory
// only where the arrays have some megabytes.
[[nodiscard]] std::set<std::string> beyond_memory(const std::map<std::string, Array>& arrays,
                                                  const std::function<int64_t()>& available);

// From now on the kernel reads of `array`, which has a mapping of its own, the page that is touched
// and no other: without this a row of 512 bytes makes it read 2 MiB and more.
void advise_row_reads(const Array& array);
// The same of a mapping.
void advise_row_reads(std::byte* mapping, int64_t size);

}  // namespace ramet
