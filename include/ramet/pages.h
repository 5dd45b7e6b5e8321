// Pages: the sizes of the pages through which this process maps a store. With 4 KiB pages nearly
// every random read misses the TLB, and the page tables of every process take 0.2 % of the store. 2
// MiB pages avoid both.
#pragma once

#include <cstdint>

#include "ramet/store.h"

namespace ramet {

// In bytes. All 0 where the kernel does not report them (no /proc).
struct PageUse {
  int64_t mapped = 0;       // the mappings of the store's arrays
  int64_t resident = 0;     // of these, what is in memory and in this process's page tables
  int64_t huge = 0;         // of these, what is on pages of 2 MiB
  int64_t by_row = 0;       // of what is mapped, the arrays of Store::read_by_row()
  int64_t page_tables = 0;  // of the whole process
};

// Maps the pages that are in memory (at most the first 8 GiB), then reads /proc/self/smaps. Reads
// no page that the kernel reports as not in memory. Takes milliseconds per GB.
[[nodiscard]] PageUse page_use(const Store& store);

// Moves the resident part of [address, address + bytes) to pages of 2 MiB, if the process may have
// them; no byte changes. Takes up to seconds per GB. Returns whether the kernel did it all.
// Unmapped memory is no error.
[[nodiscard]] bool collapse_pages(uintptr_t address, int64_t bytes);

// Starts reading the pages of [data, data + bytes) that are not in memory, for a caller that scans
// all of them. The kernel does not read ahead by itself in arrays of Store::read_by_row(). Costs
// microseconds per MB that is in memory; never fails.
void read_ahead(const void* data, int64_t bytes);

// Bytes that this process could get without swapping: the machine's, or its control group's.
[[nodiscard]] int64_t memory_left();

}  // namespace ramet
