// A hash of bytes that distinguishes contents. Not cryptographic.
//
// Memory: the caller's. Threads and forks: any; uses several threads, and the result does not
// depend on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ramet {

using ContentHash = std::array<uint64_t, 2>;

// Of all bytes and their number, on at most `threads` threads (0: all), at the speed of the memory.
// Two different contents have the same hash with a chance of 2^-128, unless somebody constructed
// them.
[[nodiscard]] ContentHash content_hash(std::span<const std::byte> bytes, int threads);

}  // namespace ramet
