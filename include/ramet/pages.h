// Pages: the sizes of the pages through which this process sees a store. With 4 KiB pages a random
// read misses the processor's cache of addresses nearly every time, and the page tables of every
// process take 0.2 % of the store; 2 MiB pages spare both.
#pragma once

#include <cstdint>

#include "ramet/store.h"

namespace ramet {

// In bytes. All 0 where the kernel does not tell (no /proc).
struct PageUse {
  int64_t mapped = 0;       // the mappings of the store's arrays
  int64_t resident = 0;     // of these, what is in memory and in this process's page tables
  int64_t huge = 0;         // of these, what is on pages of 2 MiB
  int64_t by_row = 0;       // of what is mapped, the arrays of Store::read_by_row()
  int64_t page_tables = 0;  // of the whole process
};

// Maps what is in memory already (at most the first 8 GiB), then reads /proc/self/smaps. Reads
// nothing from a disk that the kernel says is not in memory. Takes milliseconds per GB.
[[nodiscard]] PageUse page_use(const Store& store);

// For whoever is going to read all of [data, data + bytes), say some megabytes of a longer scan:
// starts reading what of it is not in memory yet, which the kernel does not by itself where
// Store::read_by_row() has the array. Costs microseconds per MB that is there; never fails.
void read_ahead(const void* data, int64_t bytes);

}  // namespace ramet
