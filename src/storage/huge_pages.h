// Asking the kernel for pages of 2 MiB, and for pages at all. Advice: where the kernel is too old
// or has no such pages, nothing happens.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ramet {

// Takes the memory of [offset, offset + size) of the file in memory `fd`, which is still empty, in
// pages of 2 MiB; `offset` is a multiple of that. Stops, without an error, where the kernel
// refuses.
void reserve_huge_pages(int fd, int64_t offset, int64_t size);

// Whether all of `size` bytes at `data`, which are mapped, are in memory. True, too, of a file that
// this process neither owns nor may write to: the kernel does not tell then.
[[nodiscard]] bool are_resident(const void* data, int64_t size);

// Puts what is in memory already of `size` bytes at `data` into this process's page tables.
void map_resident_pages(const void* data, int64_t size);

}  // namespace ramet
